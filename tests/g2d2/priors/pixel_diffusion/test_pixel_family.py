"""Folders of pixel diffusion models: recognised, checked, hashed and loaded strictly, in both layouts."""

import json
import re
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from g2d2.priors import Diffusion, load_prior, locate_prior, prior_digest, recognise
from g2d2.priors.random_unets import TRAIN_STEPS, save_pixel
from operators import InputError

WEIGHTS = "diffusion_pytorch_model.safetensors"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return save_pixel(tmp_path_factory.mktemp("pixel"))


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "copy")


def flatten(folder):
    """As google/ddpm-cifar10-32 has it: everything at the top."""
    for part in ("unet", "scheduler"):
        for path in (folder / part).iterdir():
            shutil.move(path, folder / path.name)
        (folder / part).rmdir()
    return folder


def edit(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def refused(folder, message, act=load_prior):
    with pytest.raises(InputError, match=message) as error:
        act(folder)
    assert "\n" not in str(error.value)


def test_a_folder_is_recognised_and_described(whole):
    located = locate_prior(whole)
    assert located.family.name == "pixel_diffusion"
    facts = located.facts()
    assert (facts.kind, facts.x_shape, facts.train_steps) == (Diffusion, (3, 8, 8), TRAIN_STEPS)
    assert located.describe() == {
        "shape": "8x8 pixels",
        "denoiser": "UNet2DModel, epsilon prediction, 20 training steps, unconditional",
    }
    assert located.check() == "8x8 pixels"


def test_the_flat_layout_is_the_same_prior(whole, folder):
    flatten(folder)
    assert recognise(folder).name == "pixel_diffusion"
    (folder / "model_index.json").unlink()
    flat, nested = load_prior(folder), load_prior(whole)
    for name, value in nested.unet.state_dict().items():
        assert torch.equal(flat.unet.state_dict()[name], value)
    assert prior_digest(folder) != prior_digest(whole)  # its files have other names
    (folder / "card.json").write_text("{}")
    (folder / "tuned.json").write_text("{}")
    before = prior_digest(folder)
    edit(folder / "card.json", a=1)
    assert prior_digest(folder) == before


@pytest.mark.parametrize("flat", [False, True])
def test_the_stock_pipeline_generates_from_the_folder(folder, flat):
    from diffusers import DDPMPipeline

    pipeline = DDPMPipeline.from_pretrained(flatten(folder) if flat else folder)
    pipeline.set_progress_bar_config(disable=True)
    images = pipeline(batch_size=2, num_inference_steps=3, output_type="np").images
    assert images.shape == (2, 8, 8, 3)


def test_a_folder_of_other_parts_is_one_sentence(tmp_path):
    (tmp_path / "unet").mkdir()
    (tmp_path / "unet" / "config.json").write_text('{"_class_name": "UNet3DConditionModel"}')
    refused(tmp_path, "holds no prior of a known family: .*pixel_diffusion looks for a DDPMPipeline", locate_prior)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "unet" / WEIGHTS).unlink(), f"component 'unet' has no weights: .*{WEIGHTS} is missing"),
        (lambda f: (f / "unet" / "config.json").unlink(), "component 'unet' is incomplete: .*config.json is missing"),
        (lambda f: shutil.rmtree(f / "scheduler"), "component 'scheduler' is incomplete: .*scheduler_config.json"),
        (lambda f: (f / "unet" / WEIGHTS).write_bytes(b"short"), "is cut short or not a safetensors file: 5 bytes"),
        (lambda f: edit(f / "unet" / "config.json", sample_size=None), "has sample_size None"),
        (lambda f: edit(f / "unet" / "config.json", in_channels="3"), "has in_channels '3': it must be a whole number"),
        (
            lambda f: edit(f / "unet" / "config.json", out_channels=6),
            "has in_channels 3 and out_channels 6, which must",
        ),
        (lambda f: edit(f / "unet" / "config.json", in_channels=1, out_channels=1), "conv_in.weight is 8x3x3x3, and"),
        (lambda f: edit(f / "unet" / "config.json", class_embed_type="timestep"), "has class_embed_type 'timestep'"),
        (lambda f: edit(f / "unet" / "config.json", num_class_embeds=4), "class_embedding.weight is missing"),
        (lambda f: edit(f / "unet" / "config.json", _class_name="Other"), "is of 'Other'; it must be of UNet2DModel"),
        (
            lambda f: edit(f / "scheduler" / "scheduler_config.json", variance_type="learned_range"),
            "out_channels 3, which must be 6 where the scheduler's variance_type is learned_range",
        ),
        (
            lambda f: edit(f / "scheduler" / "scheduler_config.json", _class_name="EDMEulerScheduler"),
            "has _class_name 'EDMEulerScheduler'",
        ),
    ],
)
def test_damage_is_named(folder, damage, message):
    damage(folder)
    refused(folder, message)
    refused(folder, message, lambda folder: locate_prior(folder).facts())


@pytest.mark.parametrize("change", ["missing", "extra", "shape"])
def test_weights_are_loaded_strictly(folder, change):
    path = folder / "unet" / WEIGHTS
    tensors = load_file(path)
    name = "mid_block.resnets.0.norm1.weight"
    if change == "missing":
        del tensors[name]
    elif change == "extra":
        tensors["extra"] = torch.zeros(1)
    else:
        tensors[name] = torch.zeros(3)
    save_file(tensors, path, metadata={"format": "pt"})
    message = {"missing": f"has no tensor '{name}'", "extra": "has a tensor 'extra'", "shape": f"'{name}' is 3"}[change]
    refused(folder, re.escape(message))


def test_old_names_of_attention_load_as_the_new_ones(whole, folder):
    """The models of google were saved before diffusers renamed the parts of attention."""
    path = folder / "unet" / WEIGHTS
    names = {"to_q": "query", "to_k": "key", "to_v": "value", "to_out.0": "proj_attn"}
    tensors = {}
    for name, value in load_file(path).items():
        for new, old in names.items():
            name = name.replace(f".{new}.", f".{old}.")
        tensors[name] = value
    assert any(".proj_attn." in name for name in tensors)
    path.unlink()
    torch.save(tensors, path.with_suffix(".bin"))
    loaded, plain = load_prior(folder).unet.state_dict(), load_prior(whole).unet.state_dict()
    assert all(torch.equal(loaded[name], value) for name, value in plain.items())


def test_the_digest_follows_what_is_loaded(folder):
    before = prior_digest(folder)
    (folder / "README.md").write_text("a card")
    (folder / "unet" / "diffusion_pytorch_model.fp16.safetensors").write_bytes(b"half")
    assert prior_digest(folder) == before
    edit(folder / "scheduler" / "scheduler_config.json", beta_end=0.3)
    changed = prior_digest(folder)
    assert changed != before
    (folder / "classes.json").write_text("[]")
    assert prior_digest(folder) not in (before, changed)


@pytest.mark.parametrize("flat", [False, True])
def test_a_hub_copy_without_safetensors_loads_plain_tensors(whole, folder, monkeypatch, flat):
    if flat:
        flatten(folder)
    path = folder / WEIGHTS if flat else folder / "unet" / WEIGHTS
    torch.save(load_file(path), path.with_suffix(".bin"))
    path.unlink()
    asked = []
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download",
        lambda _id, allow_patterns, **_: asked.append(allow_patterns) or str(folder),
    )
    located = locate_prior("some/ddpm")
    assert located.family.name == "pixel_diffusion"
    assert asked[2] == (["diffusion_pytorch_model*.bin*"] if flat else ["unet/*.bin*"])
    assert located.facts().x_shape == (3, 8, 8)
    loaded, plain = located.load().unet.state_dict(), load_prior(whole).unet.state_dict()
    assert all(torch.equal(loaded[name], value) for name, value in plain.items())


def test_half_precision_files_load_as_float32(folder):
    path = folder / "unet" / WEIGHTS
    save_file({name: value.half() for name, value in load_file(path).items()}, path, metadata={"format": "pt"})
    assert load_prior(folder).unet.dtype == torch.float32


def test_prompts_are_refused_before_anything_is_loaded(whole, tmp_path):
    facts = locate_prior(whole).facts()
    facts.check_prompt("")
    facts.check_prompt("a cat", guidance=0)
    with pytest.raises(InputError, match="prompt: 'a cat' is of no use to a prior that is unconditional; leave"):
        facts.check_prompt("a cat")
    classes = save_pixel(tmp_path / "classes", num_class_embeds=3)
    (classes / "classes.json").write_text('["cat", "dog"]')
    facts = locate_prior(classes).facts()
    facts.check_prompt("dog")
    with pytest.raises(InputError, match="prompt: '' is none of the prior's 3 classes; give a number from 0 to 2 or"):
        facts.check_prompt("")
    assert set(facts.prompt_problems(["cat", "2", "frog", ""])) == {"frog", ""}
