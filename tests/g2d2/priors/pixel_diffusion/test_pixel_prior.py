"""Pixel diffusion priors at work: what they predict, guidance, batches, precisions, compilers, devices."""

import pytest
import torch

from g2d2.priors import Denoised, Diffusion, Latent, UNetPrior, load_prior, locate_prior
from g2d2.priors.class_labels import ClassLabels
from g2d2.priors.gaussian_noise import GaussianNoise
from g2d2.priors.random_unets import random_unet, save_pixel
from g2d2.priors.trial import try_prior
from g2d2.priors.unet_conditions import Classes
from operators import InputError

LEVELS = (1 - torch.linspace(0.01, 0.4, 20, dtype=torch.float64)).cumprod(0)


def made(seed=0, prediction="epsilon", variance="fixed_small", labels=None, options=None, **changes):
    noise = GaussianNoise(LEVELS, prediction, variance)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if labels is not None:
            changes["num_class_embeds"] = labels.count
        unet = random_unet(learned=noise.learned, **changes)
    return UNetPrior(unet, noise, None if labels is None else Classes(labels), **(options or {}))


def noisy(prior, rows, seed=0):
    return torch.randn(rows, *prior.z_shape, generator=torch.Generator().manual_seed(seed))


def blind(prior, rows):
    return prior.condition([""] * rows, [1.0] * rows)


def test_it_is_a_diffusion_over_pixels():
    prior = made()
    assert isinstance(prior, Diffusion)
    assert not isinstance(prior, Latent)
    assert prior.x_shape == prior.z_shape == (3, 8, 8)
    assert prior.alpha_bar.dtype == torch.float64
    assert not any(parameter.requires_grad for parameter in prior.unet.parameters())
    assert not prior.unet.training


@pytest.mark.parametrize("prediction", ["epsilon", "v_prediction", "sample"])
def test_the_answer_is_that_of_the_stock_scheduler(prediction):
    from diffusers import DDPMScheduler

    prior = made(prediction=prediction)
    betas = 1 - LEVELS / torch.cat([torch.ones(1), LEVELS[:-1]])
    scheduler = DDPMScheduler(20, trained_betas=betas.numpy(), prediction_type=prediction, clip_sample=False)
    z = noisy(prior, 3)
    denoised = prior.denoise(z, 7, blind(prior, 3))
    output = prior.unet(z, torch.tensor(7)).sample
    expected = scheduler.step(output, 7, z, generator=torch.Generator()).pred_original_sample
    torch.testing.assert_close(denoised.x0, expected, rtol=1e-4, atol=1e-4)
    together = LEVELS[7].sqrt() * denoised.x0 + (1 - LEVELS[7]).sqrt() * denoised.eps
    torch.testing.assert_close(together.float(), z, rtol=1e-4, atol=1e-4)


def test_the_gradient_by_x_is_that_of_the_network():
    prior = made(options={"dtype": torch.float64})
    z, direction = noisy(prior, 2).double().requires_grad_(), noisy(prior, 2, seed=1).double()
    weights = noisy(prior, 2, seed=2).double()

    def value(z):
        return (prior.denoise(z, 5, blind(prior, 2)).x0 * weights).sum()

    (gradient,) = torch.autograd.grad(value(z), z)
    step = 1e-5
    with torch.no_grad():
        slope = (value(z + step * direction) - value(z - step * direction)) / (2 * step)
    torch.testing.assert_close((gradient * direction).sum(), slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rows", [1, 2, 9, 17])
def test_a_row_has_the_same_bits_in_any_batch(rows):
    prior = made()
    z = noisy(prior, 20)

    def answers(z):
        z = z.clone().requires_grad_()
        x0 = prior.denoise(z, 7, blind(prior, len(z))).x0
        return x0.detach(), torch.autograd.grad(x0.square().sum(), z)[0]

    for value, expected in zip(answers(z[3 : 3 + rows]), answers(z), strict=True):
        assert torch.equal(value, expected[3 : 3 + rows])


def test_a_learned_variance_is_split_off():
    prior = made(variance="learned_range")
    z = noisy(prior, 2)
    output = prior.unet(z, torch.tensor(9)).sample
    denoised = prior.denoise(z, 9, blind(prior, 2))
    torch.testing.assert_close(denoised.eps, output[:, :3])
    low, high = prior.noise.log_variance_range(9)
    share = (output[:, 3:] + 1) / 2
    torch.testing.assert_close(denoised.log_variance, share * high + (1 - share) * low)
    assert low < high


@pytest.mark.parametrize("variance", ["fixed_small", "learned_range"])
def test_guidance_mixes_class_and_null_class(variance):
    prior = made(labels=ClassLabels(5, ("cat",), null=4), variance=variance)
    z, scales = noisy(prior, 1).expand(4, -1, -1, -1), [0.0, 1.0, 3.0, 0.5]
    denoised = prior.denoise(z, 6, prior.condition(["cat"] * 4, scales))
    blank, cat = denoised.eps[0], denoised.eps[1]
    assert not torch.allclose(blank, cat)
    torch.testing.assert_close(blank, prior.unet(z[:1], torch.tensor(6), torch.tensor([4])).sample[0, :3])
    for row, scale in enumerate(scales):
        torch.testing.assert_close(denoised.eps[row], blank + scale * (cat - blank), rtol=1e-4, atol=1e-5)
    if variance == "learned_range":
        assert all(torch.equal(denoised.log_variance[row], denoised.log_variance[1]) for row in (2, 3))


def test_useless_halves_are_skipped(monkeypatch):
    prior = made(labels=ClassLabels(5, null=4))
    seen, run = [], prior._unet
    monkeypatch.setattr(prior, "_unet", lambda z, states, t: seen.append(len(z)) or run(z, states, t))
    for scales in ([1.0] * 4, [0.0] * 4, [0.0, 1.0, 2.0, 5.0]):
        condition = prior.condition(["1"] * 4, scales)
        assert int(condition.passes.sum()) == len(scales) + sum(scale not in (0, 1) for scale in scales)
        prior.denoise(noisy(prior, 4), 6, condition)
    assert seen == [4, 4, 6]


def test_guidance_means_nothing_without_a_condition():
    prior = made()
    condition = prior.condition(["", "a cat"], [7.5, 0.0])
    assert condition.embeddings.shape == (2, 0, 0)
    assert condition.passes.tolist() == [1, 1]
    with pytest.raises(InputError, match="prompt: 'a cat' is of no use to a prior that is unconditional"):
        prior.condition(["a cat"], [1.0])


def test_prompts_of_a_class_conditional_prior_are_checked():
    prior = made(labels=ClassLabels(5))
    assert prior.condition(["3", "0"], [1.0, 1.0]).embeddings.tolist() == [[[3]], [[0]]]
    for prompt, scale, message in (
        ("", 1.0, "none of the prior's 5 classes"),
        ("3", 2.0, "cannot have guidance 2"),
        ("3", 0.0, "cannot have guidance 0"),
    ):
        with pytest.raises(InputError, match=message):
            prior.condition([prompt], [scale])


@pytest.mark.parametrize("options", [{"dtype": torch.bfloat16}, {"channels_last": True}, {"dtype": torch.float16}])
def test_other_precisions_and_layouts_agree_with_float32(options):
    plain, other, z = made(), made(options=options), noisy(made(), 3)
    x0 = other.denoise(z, 7, blind(other, 3)).x0
    assert x0.dtype == torch.float32
    torch.testing.assert_close(x0, plain.denoise(z, 7, blind(plain, 3)).x0, rtol=0.1, atol=0.1)


def test_a_precision_that_is_too_low_for_the_weights_is_refused():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        unet = random_unet()
    unet.conv_in.weight.data.mul_(1e6)  # what follows divides by it again, but float16 ends before
    with pytest.raises(InputError, match="dtype float16: the denoiser's x_0 is off by nan of its size"):
        UNetPrior(unet, GaussianNoise(LEVELS), dtype=torch.float16)


def test_changed_networks_are_tried_at_no_cost_to_the_callers_random_numbers():
    state = torch.get_rng_state()
    made(options={"channels_last": True})
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        (lambda output, z: output.detach() + 0 * z.sum(), "compile: the denoiser's gradient is off by 1 of its size"),
        (lambda output, z: output * 1.1, "compile: the denoiser's value is off by 0.1 of its size"),
    ],
)
def test_a_compiler_that_lies_is_refused(monkeypatch, lie, message):
    monkeypatch.setattr(torch, "compile", lambda plain, **_: lambda z, *rest: lie(plain(z, *rest), z))
    with pytest.raises(InputError, match=message):
        made(options={"compile_networks": True})


def test_a_compiler_that_does_not_is_used(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda plain, **_: plain)
    prior, plain = made(options={"compile_networks": True, "rows": 3}), made()
    z = noisy(prior, 3)
    assert torch.equal(prior.denoise(z, 3, blind(prior, 3)).x0, plain.denoise(z, 3, blind(plain, 3)).x0)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_truly_compiled_network_agrees():
    prior, plain = made(options={"compile_networks": True}), made()
    z = noisy(prior, 2)
    torch.testing.assert_close(
        prior.denoise(z, 3, blind(prior, 2)).x0, plain.denoise(z, 3, blind(plain, 2)).x0, rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("labels", [None, ClassLabels(5, null=4)])
def test_no_value_is_read_on_the_host(labels):
    prior = made(labels=labels, variance="learned_range", options={"device": "meta"})
    z = torch.randn(3, 3, 8, 8, device="meta", requires_grad=True)
    prompts, scales = (["1"] * 3, [0.0, 1.0, 2.0]) if labels else ([""] * 3, [1.0] * 3)
    denoised = prior.denoise(z, 4, prior.condition(prompts, scales))
    assert isinstance(denoised, Denoised)
    assert {part.device.type for part in (denoised.x0, denoised.eps, denoised.log_variance)} == {"meta"}
    denoised.x0.sum().backward()


def test_a_saved_prior_answers_as_the_one_that_was_saved(tmp_path):
    from diffusers import DDPMScheduler, UNet2DModel

    folder = save_pixel(tmp_path, seed=3, scheduler={"prediction_type": "v_prediction"})
    prior = load_prior(folder)
    unet = UNet2DModel.from_pretrained(folder, subfolder="unet").eval()
    scheduler = DDPMScheduler.from_pretrained(folder, subfolder="scheduler", clip_sample=False)
    z = noisy(prior, 2)
    with torch.no_grad():
        output = unet(z, torch.tensor(9)).sample
    expected = scheduler.step(output, 9, z).pred_original_sample
    torch.testing.assert_close(prior.denoise(z, 9, blind(prior, 2)).x0, expected, rtol=1e-4, atol=1e-4)


def test_a_trial_tells_a_denoiser_from_an_untrained_one(tmp_path):
    assert "is missed by" in try_prior(load_prior(save_pixel(tmp_path))).warning
    prior = made(labels=ClassLabels(5))
    prior._unet = lambda z, states, t: z / float(1 - prior.alpha_bar[int(t)]) ** 0.5
    trial = try_prior(prior)
    assert trial.warning is None
    assert "to within 0.000 of its size" in trial.words


def test_loading_is_silent_and_leaves_random_numbers_alone(tmp_path, capfd):
    folder = save_pixel(tmp_path)
    capfd.readouterr()
    state = torch.get_rng_state()
    locate_prior(folder).load()
    assert torch.equal(torch.get_rng_state(), state)
    assert capfd.readouterr() == ("", "")
