"""Folders in aMUSEd's layout: recognised, checked, described, hashed, fetched and loaded strictly."""

import json
import re
import shutil
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

from g2d2.priors import load_prior, locate_prior, prior_digest
from g2d2.priors.base import Discrete
from g2d2.priors.catalog import CATALOG
from g2d2.priors.masked_image.masked_prior import MaskedImagePrior
from g2d2.priors.masked_image.random_masked import AMUSED_256, AMUSED_512, random_masked_parts, random_masked_prior
from operators import InputError
from pipelines.cli import main

WEIGHTS = "diffusion_pytorch_model.safetensors"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("masked")
    random_masked_parts(seed=4).save(folder)
    (folder / "model_index.json").write_text(json.dumps({"_class_name": "AmusedPipeline"}))
    return folder


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "copy")


def edit(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def refused(folder, message, act=load_prior):
    with pytest.raises(InputError, match=message) as error:
        act(folder)
    assert "\n" not in str(error.value)


def test_a_folder_is_recognised_by_any_of_three_signs(folder):
    signs = ("model_index.json", "scheduler", "transformer")
    for kept in signs:
        for sign in signs:
            if sign != kept:
                (folder / sign).rename(folder / f"not-{sign}")
        assert locate_prior(folder).family.name == "masked_image"
        for sign in signs:
            if sign != kept:
                (folder / f"not-{sign}").rename(folder / sign)


def test_facts_are_those_of_the_loaded_prior(saved):
    located = locate_prior(saved)
    facts, prior = located.facts(), load_prior(saved)
    assert facts.kind is Discrete
    assert isinstance(prior, MaskedImagePrior)
    assert facts.x_shape == prior.x_shape == (3, 8, 8)
    assert facts.train_steps == prior.schedule.train_steps
    assert facts.prompt_tokens == prior.parts.tokenizer.model_max_length == 16
    assert located.describe() == {
        "shape": "8x8 pixels, 4x4 tokens, 8 codes",
        "transformer": "1 layers, cosine masking, mask id 11 of 12, text width 8",
    }
    with pytest.raises(InputError, match="tokens and the prior's tokenizer allows 16"):
        facts.check_prompt("a cat that is far too long for it")


def test_folder_round_trip(saved):
    loaded, made = load_prior(saved), random_masked_prior(seed=4)
    assert torch.equal(loaded.codebook, made.codebook)
    z = torch.arange(16)[None] % 12
    z = z.masked_fill((z >= 8) & (z < 11), 3)
    answers = [prior.log_probs(z, 3, prior.condition(["a cat"], [2.0])) for prior in (loaded, made)]
    torch.testing.assert_close(*answers)


def test_digest_and_facts_load_no_model_library(saved):
    code = (
        "import sys\nfrom g2d2.priors import locate_prior\n"
        f"located = locate_prior({str(saved)!r})\nlocated.facts().check_prompt('a')\nlocated.digest()\n"
        "print([m for m in ('diffusers', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: shutil.rmtree(f / "scheduler"), "has no folder 'scheduler'; it must hold vqvae, transformer"),
        (lambda f: (f / "vqvae" / WEIGHTS).unlink(), "component 'vqvae' has no weights"),
        (lambda f: (f / "transformer" / "config.json").unlink(), "component 'transformer' is incomplete"),
        (lambda f: (f / "tokenizer" / "tokenizer.json").unlink(), "has no tokenizer.json or vocab.json and merges.txt"),
        (lambda f: (f / "transformer" / WEIGHTS).write_bytes(b"short"), "is cut short or not a safetensors file"),
        (
            lambda f: edit(f / "scheduler" / "scheduler_config.json", mask_token_id=8256),
            "mask_token_id 8256; it must be one of the transformer's 12 ids that is no code, 8 to 11",
        ),
        (lambda f: edit(f / "scheduler" / "scheduler_config.json", mask_token_id=7), "mask_token_id 7; it must be one"),
        (
            lambda f: edit(f / "scheduler" / "scheduler_config.json", masking_schedule="arccos"),
            "masking_schedule 'arccos'; it must be cosine or linear",
        ),
        (lambda f: edit(f / "vqvae" / "config.json", num_vq_embeddings=9), "codebook_size 8; it must be 9, the codes"),
        (lambda f: edit(f / "vqvae" / "config.json", vq_embed_dim=5), "quantize.embedding.weight is 8x4 and must be"),
        (lambda f: edit(f / "vqvae" / "config.json", block_out_channels=[]), "it must be a list of numbers"),
        (lambda f: edit(f / "vqvae" / "config.json", _class_name="AutoencoderKL"), "it must be of VQModel"),
        (lambda f: edit(f / "transformer" / "config.json", vocab_size=14), "embed.embeddings.weight is 12x32 and must"),
        (lambda f: edit(f / "transformer" / "config.json", sample_size="4"), "sample_size '4': it must be a whole"),
        (
            lambda f: edit(f / "transformer" / "config.json", micro_cond_embed_dim=24),
            "micro_cond_embed_dim 24; it must be 20, 5 times its micro_cond_encode_dim",
        ),
        (
            lambda f: edit(f / "text_encoder" / "config.json", architectures=["CLIPTextModel"]),
            "'CLIPTextModel'; it must be of CLIPTextModelWithProjection",
        ),
        (
            lambda f: edit(f / "text_encoder" / "config.json", hidden_size=16),
            "encoder_hidden_size 8; it must be 16, the text encoder's hidden_size",
        ),
        (
            lambda f: edit(f / "text_encoder" / "config.json", projection_dim=12),
            "cond_embed_dim 16; it must be 12, the text encoder's projection_dim",
        ),
    ],
)
def test_damage_is_named(folder, damage, message):
    damage(folder)
    refused(folder, message, lambda folder: locate_prior(folder).facts())
    refused(folder, message)


@pytest.mark.parametrize("part", ["vqvae", "transformer"])
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


def test_the_digest_follows_what_is_loaded(folder):
    before = prior_digest(folder)
    (folder / "README.md").write_text("a card")
    (folder / "tuned.json").write_text("{}")
    (folder / "transformer" / "diffusion_pytorch_model.fp16.safetensors").write_bytes(b"half")
    assert prior_digest(folder) == before
    edit(folder / "scheduler" / "scheduler_config.json", mask_token_id=10)
    assert prior_digest(folder) != before


def test_weights_stored_in_float16_run_in_float32(folder):
    path = folder / "transformer" / WEIGHTS
    save_file({name: value.half() for name, value in load_file(path).items()}, path, metadata={"format": "pt"})
    prior = load_prior(folder)
    assert prior.parts.transformer.dtype == torch.float32


def test_published_ones_are_asked_for_on_the_hub(folder, monkeypatch):
    """The hub's part is played by a folder whose vqvae has plain pickled tensors alone."""
    path = folder / "vqvae" / WEIGHTS
    torch.save(load_file(path), path.with_suffix(".bin"))
    path.unlink()
    asked = []
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download",
        lambda repository, allow_patterns, **_: asked.append((repository, allow_patterns)) or str(folder),
    )
    assert locate_prior("amused-256").load().mask_id == 11
    assert [repository for repository, _ in asked] == ["amused/amused-256"] * 2
    assert "transformer/*.safetensors" in asked[0][1]
    assert asked[1][1] == ["vqvae/*.bin*"]
    asked.clear()
    assert locate_prior("amused/amused-512").family.name == "masked_image"
    assert asked[0][1] == ["*.json"]  # by these it is recognised


@pytest.mark.parametrize(("name", "shape"), [("amused-256", AMUSED_256), ("amused-512", AMUSED_512)])
def test_the_catalog_agrees_with_the_published_shapes(name, shape):
    known = CATALOG[name]
    assert (known.family, known.location) == ("masked_image", f"amused/{name}")
    assert (known.codes, known.token_side) == (shape.codes, shape.token_side)
    assert known.image_size == shape.token_side * 2 ** (len(shape.vq_channels) - 1)


def test_commands_know_them(saved, capsys, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert main(["prior", "list"]) == 0
    assert "amused-512" in capsys.readouterr().out
    assert main(["prior", "info", "amused-256"]) == 0
    assert "256x256 pixels, 16x16 tokens, 8192 codes" in capsys.readouterr().out
    assert main(["prior", "info", str(saved)]) == 0
    assert "mask id 11 of 12" in capsys.readouterr().out
    assert main(["prior", "check", str(saved), "--run"]) == 0
    assert "kept with p = 0.900" in capsys.readouterr().out
    assert main(["prior", "fetch", "amused-256"]) == 2
    assert "offline mode is on" in capsys.readouterr().err
