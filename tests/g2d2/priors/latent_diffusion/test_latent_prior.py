"""Latent diffusion priors at work: encoder and decoder both ways, quantising, prompts, batches, devices."""

import pytest
import torch

from g2d2.priors import Diffusion, Latent, LatentDiffusionPrior, load_prior, locate_prior
from g2d2.priors.latent_diffusion.latent_components import load_latent_parts
from g2d2.priors.random_unets import save_latent
from operators import InputError


@pytest.fixture(scope="module")
def ldm(tmp_path_factory):
    return save_latent(tmp_path_factory.mktemp("ldm"))


@pytest.fixture(scope="module")
def stable(tmp_path_factory):
    return save_latent(tmp_path_factory.mktemp("stable"), kind="AutoencoderKL", text=True)


@pytest.fixture(scope="module", params=["ldm", "stable"])
def prior(request, ldm, stable):
    return load_prior({"ldm": ldm, "stable": stable}[request.param])


def latents(rows, seed=0):
    return torch.randn(rows, 4, 8, 8, generator=torch.Generator().manual_seed(seed))


def images(rows, seed=0):
    return torch.rand(rows, 3, 16, 16, generator=torch.Generator().manual_seed(seed)) * 2 - 1


def test_it_is_a_diffusion_over_latents(prior):
    assert isinstance(prior, Latent)
    assert isinstance(prior, Diffusion)
    assert (prior.x_shape, prior.z_shape) == ((3, 16, 16), (4, 8, 8))
    for network in prior.networks:
        assert not network.training
        assert not any(parameter.requires_grad for parameter in network.parameters())


def test_encoding_and_decoding_are_those_of_the_stock_autoencoder(ldm, stable):
    for folder in (ldm, stable):
        prior = load_prior(folder)
        x, z, stock = images(2), latents(2), prior.autoencoder
        encoded = stock.encode(x).latents if folder == ldm else stock.encode(x).latent_dist.mean
        torch.testing.assert_close(prior.encode(x), encoded * 0.5, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(prior.decode(z), stock.decode(z / 0.5).sample, rtol=1e-4, atol=1e-5)


def test_latents_of_a_vq_model_are_quantised_with_a_straight_gradient(ldm):
    quantising = load_prior(ldm)
    plain = LatentDiffusionPrior(load_latent_parts(ldm), quantize=False)
    codes = quantising.codebook[torch.arange(64).view(1, 8, 8) % 16].permute(0, 3, 1, 2) * 0.5
    near = codes + 0.01 * latents(1)
    assert torch.equal(quantising.decode(near), quantising.decode(codes))
    torch.testing.assert_close(plain.decode(codes), quantising.decode(codes))
    assert not torch.allclose(plain.decode(near), quantising.decode(near))
    gradients = []
    for prior, z in ((quantising, near), (plain, codes)):
        z = z.clone().requires_grad_()
        gradients.append(torch.autograd.grad(prior.decode(z).square().sum(), z)[0])
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


def test_codes_decode_as_the_tokens_of_a_discrete_prior_do(tiny_prior, tmp_path):
    """A latent prior on a discrete prior's tokeniser makes the same images of the same codes."""
    import shutil

    from g2d2.priors.random_unets import DDIMScheduler, random_unet

    shutil.copytree(tiny_prior / "vqvae", tmp_path / "vqvae")
    random_unet(4, side=4).save_pretrained(tmp_path / "unet")
    DDIMScheduler().save_pretrained(tmp_path / "scheduler")
    latent, discrete = load_prior(tmp_path), load_prior(tiny_prior)
    tokens = torch.arange(16).view(1, 16).expand(2, -1) % len(discrete.codebook)
    embeddings = discrete.codebook[tokens].mT
    x = discrete.decode(embeddings)
    decoded = latent.decode(embeddings.reshape(2, 4, 4, 4) * latent.scaling)
    torch.testing.assert_close(decoded, x, rtol=1e-4, atol=1e-5)


def test_encoder_and_decoder_are_differentiable(prior):
    z, x = latents(2).requires_grad_(), images(2).requires_grad_()
    (by_z,) = torch.autograd.grad(prior.decode(z).square().sum(), z)
    (by_x,) = torch.autograd.grad(prior.encode(x).square().sum(), x)
    assert by_z.abs().amax(dim=(1, 2, 3)).min() > 0
    assert by_x.abs().amax(dim=(1, 2, 3)).min() > 0


@pytest.mark.parametrize("rows", [1, 3, 10])
def test_a_row_has_the_same_bits_in_any_batch(prior, rows):
    z, x = latents(18), images(18)
    prompts, scales = ([""] * 18, [1.0] * 18)
    if prior.conditions.networks:
        prompts, scales = (["a", "b", ""] * 6, [1.0, 3.0, 0.0, 0.5, 1.0, 7.0] * 3)
    condition, some = prior.condition(prompts, scales), slice(4, 4 + rows)

    def answers(z, x, condition):
        z, x = z.clone().requires_grad_(), x.clone().requires_grad_()
        x0, decoded, encoded = prior.denoise(z, 7, condition).x0, prior.decode(z), prior.encode(x)
        total = sum(part.square().sum() for part in (x0, decoded, encoded))
        return [part.detach() for part in (x0, decoded, encoded)] + list(torch.autograd.grad(total, (z, x)))

    parts, whole = answers(z[some], x[some], condition.select(some)), answers(z, x, condition)
    for value, expected in zip(parts, whole, strict=True):
        assert torch.equal(value, expected[some])


def test_guidance_mixes_prompt_and_empty_prompt(stable):
    prior = load_prior(stable)
    z, scales = latents(1).expand(4, -1, -1, -1), [0.0, 1.0, 3.0, 0.5]
    eps = prior.denoise(z, 6, prior.condition(["frog"] * 4, scales)).eps
    for row, scale in enumerate(scales):
        torch.testing.assert_close(eps[row], eps[0] + scale * (eps[1] - eps[0]), rtol=1e-4, atol=1e-5)
    assert not torch.allclose(eps[0], eps[1], atol=1e-5)
    states = prior.condition(["frog"], [1.0]).embeddings
    ids = prior.conditions.tokenizer(["frog"], padding="max_length", max_length=16, return_tensors="pt").input_ids
    torch.testing.assert_close(states, prior.conditions.text_encoder(ids).last_hidden_state, rtol=1e-4, atol=1e-5)
    expected = prior.unet(z[:1], torch.tensor(6), encoder_hidden_states=states).sample
    torch.testing.assert_close(eps[1:2], expected, rtol=1e-4, atol=1e-5)


def test_guidance_of_an_empty_prompt_costs_nothing(stable):
    prior = load_prior(stable)
    condition = prior.condition(["", "frog", "frog"], [7.5, 7.5, 0.0])
    assert condition.passes.tolist() == [1, 2, 1]
    blank = prior.condition(["", "", ""], [1.0] * 3)
    z = latents(3)
    guided, plain = prior.denoise(z, 5, condition).eps, prior.denoise(z, 5, blank).eps
    assert torch.equal(guided[0], plain[0])
    assert torch.equal(guided[2], plain[2])


def test_each_prompt_is_encoded_once_and_long_ones_are_refused(stable):
    prior = load_prior(stable)
    calls, run = [], prior.conditions.prompts.encode
    prior.conditions.prompts.encode = lambda texts: calls.append(texts) or run(texts)
    prior.condition(["cat", "dog", "cat"], [1.0] * 3)
    prior.condition(["dog", "frog", "never"], [1.0, 1.0, 0.0])
    assert calls == [["cat", "dog"], ["", "frog"]]
    with pytest.raises(InputError, match="this prior's tokenizer allows 16"):
        prior.condition(["a cat that is far too long for it"], [1.0])


@pytest.mark.parametrize("options", [{"dtype": "bfloat16"}, {"channels_last": True}, {"dtype": "float16"}])
def test_other_precisions_and_layouts_agree_with_float32(ldm, stable, options):
    for folder in (ldm, stable):
        plain, other = load_prior(folder), load_prior(folder, **options)
        assert other.decode(latents(2)).dtype == torch.float32
        torch.testing.assert_close(other.decode(latents(2)), plain.decode(latents(2)), rtol=0.1, atol=0.1)
        torch.testing.assert_close(other.encode(images(2)), plain.encode(images(2)), rtol=0.1, atol=0.1)


@pytest.mark.parametrize("part", ["decoder", "encoder", "denoiser"])
def test_a_compiler_that_lies_about_one_network_is_refused(ldm, monkeypatch, part):
    names = {"decoder": "_run_decoder", "encoder": "_run_encoder", "denoiser": "_run_unet"}

    def compiled(plain, **_):
        wrong = plain.__name__ == names[part]
        return lambda z, *rest: plain(z, *rest).detach() + 0 * z.sum() if wrong else plain(z, *rest)

    monkeypatch.setattr(torch, "compile", compiled)
    with pytest.raises(InputError, match=f"compile: the {part}'s gradient is off by 1 of its size"):
        load_prior(ldm, compile_networks=True)


def test_no_value_is_read_on_the_host(ldm, stable):
    for folder, prompts, scales in ((ldm, ["", ""], [1.0, 1.0]), (stable, ["a", "b"], [1.0, 3.0])):
        prior = LatentDiffusionPrior(load_latent_parts(folder), device="meta")
        z = torch.randn(2, 4, 8, 8, device="meta", requires_grad=True)
        x0 = prior.denoise(z, 4, prior.condition(prompts, scales)).x0
        again = prior.encode(prior.decode(x0))
        assert (again.shape, again.device.type) == (z.shape, "meta")
        again.sum().backward()


def test_loading_is_silent(stable, capfd):
    locate_prior(stable).load()
    assert capfd.readouterr() == ("", "")
