"""Folders of latent diffusion models: LDM's and Stable Diffusion's, recognised, checked, hashed and loaded strictly."""

import json
import re
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from g2d2.priors import Latent, load_prior, locate_prior, prior_digest
from g2d2.priors.random_unets import TRAIN_STEPS, save_latent
from operators import InputError

WEIGHTS = "diffusion_pytorch_model.safetensors"


@pytest.fixture(scope="module")
def ldm(tmp_path_factory):
    return save_latent(tmp_path_factory.mktemp("ldm"))


@pytest.fixture(scope="module")
def stable(tmp_path_factory):
    return save_latent(tmp_path_factory.mktemp("stable"), kind="AutoencoderKL", text=True)


@pytest.fixture
def folder(ldm, tmp_path):
    return shutil.copytree(ldm, tmp_path / "copy")


@pytest.fixture
def texts(stable, tmp_path):
    return shutil.copytree(stable, tmp_path / "texts")


def edit(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def drop(path, key):
    content = json.loads(path.read_text())
    del content[key]
    path.write_text(json.dumps(content))


def refused(folder, message, act=load_prior):
    with pytest.raises(InputError, match=message) as error:
        act(folder)
    assert "\n" not in str(error.value)


def test_both_layouts_are_recognised_and_described(ldm, stable):
    located = locate_prior(ldm)
    facts = located.facts()
    assert located.family.name == "latent_diffusion"
    assert (facts.kind, facts.x_shape, facts.train_steps, facts.prompt_tokens) == (
        Latent,
        (3, 16, 16),
        TRAIN_STEPS,
        None,
    )
    assert located.describe() == {
        "shape": "16x16 pixels, 8x8 latents of 4 channels",
        "denoiser": "UNet2DModel, epsilon prediction, 20 training steps, unconditional",
        "autoencoder": "VQModel, scaling factor 0.5",
    }
    located = locate_prior(stable)
    assert located.family.name == "latent_diffusion"
    assert located.facts().prompt_tokens == 16
    assert located.describe()["autoencoder"] == "AutoencoderKL, scaling factor 0.5"
    for folder in (ldm, stable):
        (folder / "model_index.json").rename(folder / "other.json")
        assert locate_prior(folder).family.name == "latent_diffusion"
        (folder / "other.json").rename(folder / "model_index.json")


def test_a_tokeniser_with_a_transformer_is_another_family(tmp_path):
    for part in ("vqvae", "transformer"):
        (tmp_path / part).mkdir()
    refused(tmp_path, "latent_diffusion looks for an LDMPipeline or StableDiffusionPipeline", locate_prior)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: shutil.rmtree(f / "scheduler"), "has no folder 'scheduler'; it must hold vqvae, unet, scheduler"),
        (lambda f: shutil.rmtree(f / "vqvae"), "has no folder vqvae and vae; it must hold one of them"),
        (lambda f: shutil.copytree(f / "vqvae", f / "vae"), "has both folders vqvae and vae"),
        (lambda f: (f / "vqvae" / WEIGHTS).unlink(), "component 'vqvae' has no weights"),
        (lambda f: (f / "vqvae" / "config.json").unlink(), "component 'vqvae' is incomplete"),
        (lambda f: (f / "unet" / WEIGHTS).write_bytes(b"short"), "is cut short or not a safetensors file"),
        (
            lambda f: edit(f / "vqvae" / "config.json", vq_embed_dim=3),
            "in_channels 4, which does not fit the 3 channels",
        ),
        (lambda f: edit(f / "vqvae" / "config.json", in_channels=1), "encoder.conv_in.weight is 8x3x3x3"),
        (
            lambda f: edit(f / "vqvae" / "config.json", scaling_factor=0),
            "has scaling_factor 0: it must be a number above",
        ),
        (
            lambda f: edit(f / "vqvae" / "config.json", _class_name="AutoencoderTiny"),
            "it must be of VQModel or Autoenc",
        ),
        (lambda f: edit(f / "vqvae" / "config.json", latents_mean=[0.1]), "has latents_mean"),
        (
            lambda f: edit(f / "unet" / "config.json", _class_name="UNet2DConditionModel"),
            "has no folder 'text_encoder'",
        ),
        (lambda f: edit(f / "unet" / "config.json", in_channels=9), "in_channels 9 and out_channels 4"),
    ],
)
def test_damage_is_named(folder, damage, message):
    damage(folder)
    refused(folder, message)
    refused(folder, message, lambda folder: locate_prior(folder).facts())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: shutil.rmtree(f / "tokenizer"), "has no folder 'tokenizer'"),
        (lambda f: (f / "text_encoder" / "model.safetensors").unlink(), "component 'text_encoder' has no weights"),
        (lambda f: (f / "tokenizer" / "tokenizer.json").unlink(), "has no tokenizer.json or vocab.json and merges.txt"),
        (lambda f: edit(f / "text_encoder" / "config.json", hidden_size=9), "hidden_size 9, and the UNet's cross_att"),
        (lambda f: edit(f / "text_encoder" / "config.json", architectures=["T5"]), "'T5'; it must be of CLIPTextModel"),
        (lambda f: edit(f / "unet" / "config.json", addition_embed_type="text_time"), "has addition_embed_type"),
        (lambda f: edit(f / "unet" / "config.json", num_class_embeds=3), "num_class_embeds beside cross-attention"),
    ],
)
def test_damage_to_the_text_is_named(texts, damage, message):
    damage(texts)
    refused(texts, message)


@pytest.mark.parametrize("part", ["vqvae", "unet"])
@pytest.mark.parametrize("change", ["missing", "extra"])
def test_weights_are_loaded_strictly(folder, part, change):
    path = folder / part / WEIGHTS
    tensors = load_file(path)
    name = next(name for name in sorted(tensors) if "norm" in name)
    if change == "missing":
        del tensors[name]
    else:
        tensors["extra"] = torch.zeros(1)
    save_file(tensors, path, metadata={"format": "pt"})
    refused(folder, re.escape(f"has no tensor '{name}'" if change == "missing" else "has a tensor 'extra'"))


def test_position_ids_of_older_text_encoders_are_not_a_misfit(texts):
    """Stable Diffusion 1.5 was saved with them."""
    path = texts / "text_encoder" / "model.safetensors"
    tensors = load_file(path)
    prefix = next(name for name in tensors if "position_embedding" in name).partition("position_embedding")[0]
    save_file(tensors | {f"{prefix}position_ids": torch.arange(16)[None]}, path, metadata={"format": "pt"})
    load_prior(texts)


@pytest.mark.parametrize(
    ("name", "folder_name", "factor"), [("VQModel", "vqvae", 1.0), ("AutoencoderKL", "vae", 0.18215)]
)
def test_a_scaling_factor_that_is_not_stated_is_that_of_the_time_of_saving(tmp_path, name, folder_name, factor):
    """Diffusers would take 0.18215 for a VQModel too, which CompVis/ldm-celebahq-256 was not trained with."""
    folder = save_latent(tmp_path, kind=name)
    drop(folder / folder_name / "config.json", "scaling_factor")
    assert load_prior(folder).scaling == factor


def test_the_digest_follows_what_is_loaded(folder, texts):
    before = prior_digest(folder)
    (folder / "README.md").write_text("a card")
    (folder / "tuned.json").write_text("{}")
    (folder / "safety_checker").mkdir()
    (folder / "safety_checker" / "config.json").write_text("{}")
    (folder / "vqvae" / "diffusion_pytorch_model.fp16.safetensors").write_bytes(b"half")
    assert prior_digest(folder) == before
    edit(folder / "vqvae" / "config.json", scaling_factor=0.25)
    changed = prior_digest(folder)
    assert changed != before
    before = prior_digest(texts)
    edit(texts / "tokenizer" / "tokenizer_config.json", model_max_length=12)
    assert prior_digest(texts) != before


def test_a_hub_copy_without_safetensors_loads_plain_tensors(ldm, folder, monkeypatch):
    path = folder / "vqvae" / WEIGHTS
    torch.save(load_file(path), path.with_suffix(".bin"))
    path.unlink()
    asked = []
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download",
        lambda _id, allow_patterns, **_: asked.append(allow_patterns) or str(folder),
    )
    located = locate_prior("some/ldm")
    assert asked[2] == ["vqvae/*.bin*"]
    assert not any("safety_checker" in pattern for pattern in asked[1])
    loaded, plain = located.load().autoencoder.state_dict(), load_prior(ldm).autoencoder.state_dict()
    assert all(torch.equal(loaded[name], value) for name, value in plain.items())


def test_prompts_are_counted_or_refused_before_anything_is_loaded(ldm, stable):
    with pytest.raises(InputError, match="of no use to a prior that is unconditional"):
        locate_prior(ldm).facts().check_prompt("a cat")
    facts = locate_prior(stable).facts()
    facts.check_prompt("a cat")
    with pytest.raises(InputError, match="tokens and the prior's tokenizer allows 16"):
        facts.check_prompt("a cat that is far too long for it")
