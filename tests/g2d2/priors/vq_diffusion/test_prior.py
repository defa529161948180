"""The VQ-Diffusion prior: guidance, prompts, frozen networks, folders."""

import shutil
import subprocess
import sys

import pytest
import torch

from g2d2.priors import TINY, load_prior, random_prior
from g2d2.priors.vq_diffusion.components import COMPONENT_CLASSES
from g2d2.priors.vq_diffusion.prior import VQDiffusionPrior
from g2d2.priors.vq_diffusion.random_weights import random_components
from g2d2.sampling import LOG_FLOOR
from operators import InputError


@pytest.fixture(scope="module")
def prior():
    return random_prior()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("prior")
    random_components(TINY, seed=4).save(root)
    return root


def tokens(prior, rows):
    return torch.randint(0, 9, (rows, prior.num_tokens), generator=torch.Generator().manual_seed(0))


def passes(prior, monkeypatch):
    """Rows the transformer sees per call."""
    seen, run = [], prior._denoise
    monkeypatch.setattr(prior, "_denoise", lambda z, states, t: seen.append(len(z)) or run(z, states, t))
    return seen


def test_guidance_mixes_conditional_and_unconditional(prior):
    z = tokens(prior, 1).expand(4, -1)
    scales = [0.0, 1.0, 3.0, 0.5]
    log_p = prior.log_probs(z, 5, prior.condition(["frog"] * 4, scales))
    blank, frog = log_p[0], log_p[1]
    for i, scale in enumerate(scales):
        expected = (blank + scale * (frog - blank)).log_softmax(0).clamp(min=LOG_FLOOR)
        torch.testing.assert_close(log_p[i], expected, rtol=1e-4, atol=1e-4)
    assert not torch.allclose(blank, frog)


def test_useless_halves_are_skipped(prior, monkeypatch):
    seen = passes(prior, monkeypatch)
    z = tokens(prior, 4)
    prior.log_probs(z, 5, prior.condition(["a"] * 4, [1.0] * 4))
    prior.log_probs(z, 5, prior.condition(["a"] * 4, [0.0] * 4))
    prior.log_probs(z, 5, prior.condition(["a"] * 4, [0.0, 1.0, 2.0, 5.0]))
    assert seen == [4, 4, 6]


def test_unguided_rows_equal_the_stock_transformer(prior):
    z = tokens(prior, 3)
    condition = prior.condition(["a", "b", "a"], [1.0] * 3)
    stock = prior.components.transformer(z, encoder_hidden_states=condition.embeddings, timestep=torch.tensor(6)).sample
    torch.testing.assert_close(prior.log_probs(z, 7, condition), stock.clamp(min=LOG_FLOOR), rtol=1e-4, atol=1e-4)


def test_each_prompt_is_encoded_once(monkeypatch):
    prior = random_prior()
    calls, run = [], prior._prompts.encode
    monkeypatch.setattr(prior._prompts, "encode", lambda texts: calls.append(texts) or run(texts))
    prior.condition(["cat", "dog", "cat"], [1.0] * 3)
    prior.condition(["dog", "frog", "never"], [1.0, 1.0, 0.0])
    assert calls == [["cat", "dog"], ["frog"]]


def test_networks_are_frozen_and_the_decoder_is_differentiable(prior):
    parts = prior.components
    for network in (
        parts.vqvae,
        parts.transformer,
        parts.text_encoder,
        parts.learned_classifier_free_sampling_embeddings,
    ):
        assert not network.training
        assert not any(p.requires_grad for p in network.parameters())
    embeddings = torch.randn(2, 4, prior.num_tokens, requires_grad=True)
    prior.decode(embeddings).sum().backward()
    assert embeddings.grad.abs().sum() > 0


def test_decode_of_codes_equals_the_stock_pipeline_decode(prior):
    z = tokens(prior, 2).clamp(max=7)
    vqvae = prior.components.vqvae
    stock = vqvae.decode(vqvae.quantize.get_codebook_entry(z, shape=(2, 4, 4, 4)), force_not_quantize=True).sample
    torch.testing.assert_close(prior.decode(prior.codebook[z].mT), stock)


def test_encode_gives_tokens_of_the_right_shape(prior):
    z = prior.encode(torch.zeros(2, *prior.x_shape))
    assert z.shape == (2, prior.num_tokens)
    assert (z < 8).all()


def test_top_p_cuts_the_prior(prior):
    condition = prior.condition(["a"], [1.0])
    full = prior.log_probs(tokens(prior, 1), 5, condition)
    cut = prior.log_probs(tokens(prior, 1), 5, condition, top_p=0.5)
    assert (cut == LOG_FLOOR).any()
    assert torch.equal(cut.argmax(1), full.argmax(1))


@pytest.mark.parametrize("options", [{"dtype": torch.bfloat16}, {"channels_last": True}])
def test_half_precision_and_channels_last_agree_with_float32(prior, options):
    other = random_prior(**options)
    embeddings = prior.codebook[tokens(prior, 2).clamp(max=7)].mT
    got = other.decode(embeddings)
    assert got.dtype == torch.float32
    torch.testing.assert_close(got, prior.decode(embeddings), rtol=0.1, atol=0.05)


def test_folder_round_trip(folder):
    loaded, made = load_prior(folder), random_prior(seed=4)
    assert torch.equal(loaded.codebook, made.codebook)
    z = tokens(made, 1)
    got = loaded.log_probs(z, 3, loaded.condition(["a cat"], [2.0]))
    torch.testing.assert_close(got, made.log_probs(z, 3, made.condition(["a cat"], [2.0])))
    assert loaded.x_shape == (3, 8, 8)


def broken(folder, tmp_path, damage):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    damage(copy)
    return copy


def truncate(path):
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: shutil.rmtree(f / "scheduler"), "has no folder 'scheduler'"),
        (lambda f: (f / "transformer" / "config.json").unlink(), "component 'transformer'"),
        (lambda f: next((f / "vqvae").glob("*.safetensors")).unlink(), "component 'vqvae'"),
        (lambda f: truncate(next((f / "text_encoder").glob("*.safetensors"))), "text_encoder/model.safetensors is cut"),
    ],
)
def test_damaged_folders_are_named(folder, tmp_path, damage, message):
    with pytest.raises(InputError, match=message) as error:
        load_prior(broken(folder, tmp_path, damage))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("source", ["no-such-name", "./nowhere", "a/b/c"])
def test_unknown_sources_are_named(source):
    with pytest.raises(InputError, match="neither a folder here, a known name"):
        load_prior(source)


def test_a_codebook_that_does_not_fit_is_refused():
    parts, other = random_components(TINY), random_components(TINY.__class__(**{**TINY.__dict__, "codes": 12}))
    parts.transformer = other.transformer
    with pytest.raises(InputError, match=r"transformer.num_vector_embeds: 13 does not fit the codebook of 8 codes"):
        VQDiffusionPrior(parts)


def test_unknown_dtype_and_missing_device_are_named(folder):
    with pytest.raises(InputError, match="dtype: 'float8'"):
        load_prior(folder, dtype="float8")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="no CUDA device"):
            load_prior(folder, device="cuda")


def test_a_hub_id_that_cannot_be_reached_is_one_sentence(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="'someone/somewhere' cannot be fetched from the hub") as error:
        load_prior("someone/somewhere")
    assert "\n" not in str(error.value)


def test_a_hub_copy_without_safetensors_loads_plain_tensors(tmp_path, monkeypatch):
    """The hub's part is played by a folder; what is asked for decides what is copied."""
    made = random_components(TINY, seed=4)
    for name in COMPONENT_CLASSES:
        part = getattr(made, name)
        if hasattr(part, "parameters") and name != "text_encoder":
            part.save_pretrained(tmp_path / name, safe_serialization=False)
        else:
            part.save_pretrained(tmp_path / name)
    for name in ("transformer", "vqvae"):  # what the hub keeps beside them must not pass for the weights
        (tmp_path / name / "diffusion_pytorch_model.fp16.safetensors").write_bytes(b"half")
    asked = []
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download",
        lambda _id, allow_patterns, ignore_patterns, **_: asked.append(allow_patterns) or str(tmp_path),
    )
    assert torch.equal(load_prior("some/prior").codebook, random_prior(seed=4).codebook)
    configurations, preferred, others = asked
    assert configurations == ["*.json"]  # by these it is recognised
    assert "transformer/*.safetensors" in preferred
    assert "transformer/*.bin*" in others
    assert "text_encoder/*.bin*" not in others
    assert not any(pattern.endswith(".bin") for pattern in preferred)


def test_loading_is_silent():
    code = "from g2d2 import load_prior; load_prior('cifar10')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
