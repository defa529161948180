"""What every family promises: train, resume, refuse a mixed folder, export whole, report."""

import json
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from g2d2.training import FAMILY_NAMES
from g2d2.training.gaussian.unet_stage import UNetStage
from g2d2.training.loop import Interrupted
from g2d2.training.masked_image.unit_range import RangeStage
from g2d2.training.masked_image.uvit_stage import UViTStage
from g2d2.training.masked_motion.motion_tokeniser import MotionVQVAEStage
from g2d2.training.masked_motion.motion_tokens import MotionTransformerStage
from g2d2.training.recipes import FAMILIES
from g2d2.training.run import claim
from g2d2.training.settings import Recipe, StageLimits
from g2d2.training.vq_diffusion.token_transformer import TransformerStage
from g2d2.training.vq_diffusion.vqvae import VQVAEStage
from operators.errors import InputError

Recipes = dict[str, Callable[[Path], Recipe]]

STAGES = [
    ("vq_diffusion", VQVAEStage, 1),
    ("vq_diffusion", VQVAEStage, 3),
    ("vq_diffusion", TransformerStage, 2),
    ("pixel_diffusion", UNetStage, 2),
    ("latent_diffusion", UNetStage, 2),
    ("masked_image", RangeStage, 1),
    ("masked_image", UViTStage, 2),
    ("masked_motion", MotionVQVAEStage, 1),
    ("masked_motion", MotionVQVAEStage, 3),
    ("masked_motion", MotionTransformerStage, 2),
]
FEW: dict[str, dict[str, Any]] = {
    "pixel_diffusion": {"compared": 2, "sampling_steps": 2},
    "latent_diffusion": {"sampling_steps": 2},
    "masked_motion": {"windows": 2, "steps": 2},
}
"""What keeps the reports short."""
HELD_OUT = {"masked_motion": ("windows", 2)}
"""What a report counts, and how many of it; 20 images elsewhere."""
SOURCES = {"masked_motion": "mocap.cs.cmu.edu"}
"""Whom a card must name; CIFAR-10's author elsewhere."""


@pytest.fixture(scope="module")
def trained(tiny_recipes: Recipes, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The output folder of each family, trained once."""
    folders: dict[str, Path] = {}

    def train(family: str) -> Path:
        if family not in folders:
            folders[family] = tmp_path_factory.mktemp(family)
            FAMILIES[family].train(tiny_recipes[family](folders[family]))
        return folders[family]

    return train


def weights(folder: Path) -> dict[str, torch.Tensor]:
    files = sorted((folder / "export").rglob("*.safetensors"))
    return {f"{file.parent.name}/{name}": value for file in files for name, value in load_file(file).items()}


def test_names_are_those_of_the_registry(tiny_recipes: Recipes) -> None:
    assert set(FAMILY_NAMES) == set(FAMILIES) == set(tiny_recipes)
    assert all(FAMILIES[name].recipe.family == name for name in FAMILY_NAMES)


@pytest.mark.parametrize(("family", "stage", "at"), STAGES)
def test_resumed_run_equals_uninterrupted(
    family: str,
    stage: type[Any],
    at: int,
    trained: Callable[[str], Path],
    tiny_recipes: Recipes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = stage.step

    def interrupted_step(self: object, index: int, fraction: float) -> dict[str, float]:
        if index == at:
            signal.raise_signal(signal.SIGINT)
        numbers: dict[str, float] = step(self, index, fraction)
        return numbers

    recipe = tiny_recipes[family](tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(stage, "step", interrupted_step)
        with pytest.raises(Interrupted, match=f"step {at + 1}"):
            FAMILIES[family].train(recipe)
    FAMILIES[family].train(recipe)
    whole, resumed = weights(trained(family)), weights(tmp_path)
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_another_recipe_or_family_in_the_same_folder_is_refused(
    family: str, trained: Callable[[str], Path], tiny_recipes: Recipes
) -> None:
    recipe = tiny_recipes[family](trained(family))
    with pytest.raises(InputError, match="another seed"):
        FAMILIES[family].train(recipe.model_copy(update={"seed": 7}))
    other = next(name for name in FAMILY_NAMES if name != family)
    with pytest.raises(InputError, match=r"another .*family"):
        FAMILIES[other].train(tiny_recipes[other](trained(family)))


def test_a_prior_to_build_on_is_known_by_its_weights(tiny_recipes: Recipes, tiny_prior: Path, tmp_path: Path) -> None:
    recipe = tiny_recipes["latent_diffusion"](tmp_path / "run")
    claim(recipe)
    elsewhere = shutil.copytree(tiny_prior, tmp_path / "copy")
    claim(recipe.model_copy(update={"tokeniser": elsewhere}))
    file = elsewhere / "vqvae" / "diffusion_pytorch_model.safetensors"
    file.write_bytes(file.read_bytes()[:-4] + b"\0\0\0\1")
    with pytest.raises(InputError, match="another tokeniser"):
        claim(recipe.model_copy(update={"tokeniser": elsewhere}))


@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_a_larger_budget_trains_the_prior_but_not_the_tokeniser(
    family: str, trained: Callable[[str], Path], tiny_recipes: Recipes, tmp_path: Path
) -> None:
    recipe = tiny_recipes[family](tmp_path)
    FAMILIES[family].train(recipe)
    more = StageLimits(minutes=60, steps=6)
    FAMILIES[family].train(recipe.model_copy(update=dict.fromkeys(recipe.budgets, more)))
    before, after = weights(trained(family)), weights(tmp_path)
    same = {name.split("/")[0]: True for name in before}
    for name, value in before.items():
        same[name.split("/")[0]] &= torch.equal(value, after[name])
    assert same.pop("vqvae", True)
    assert not all(same.values())


@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_minutes_and_clock_reach_every_stage(family: str, tiny_recipes: Recipes, tmp_path: Path) -> None:
    recipe = tiny_recipes[family](tmp_path).with_minutes(41).with_clock("processor")
    assert sum(limits.minutes for limits in recipe.budgets.values()) == pytest.approx(41)
    assert {limits.clock for limits in recipe.budgets.values()} == {"processor"}


@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_report_measures_and_draws_and_names_no_path(
    family: str, trained: Callable[[str], Path], tiny_recipes: Recipes
) -> None:
    out = trained(family)
    recipe = tiny_recipes[family](out)
    options: dict[str, Any] = {"log": lambda line: None, **FEW.get(family, {})}
    if FAMILIES[family].images:
        options |= {"images": 20, "lpips": lambda a, b: (a - b).abs().mean((1, 2, 3))}
    numbers = FAMILIES[family].report(recipe, **options)
    assert json.loads((out / "numbers.json").read_text()) == json.loads(json.dumps(numbers))
    record = json.loads((out / "export" / "training.json").read_text())
    assert record["family"] == family
    counted, count = HELD_OUT.get(family, ("images", 20))
    assert record["held_out"][counted] == count
    assert [row["step"] for row in next(iter(record["curves"].values()))] == [2, 4]
    card = (out / "export" / "README.md").read_text()
    assert SOURCES.get(family, "Krizhevsky") in card
    assert "4 steps of" in card
    assert not re.search(r"\{\w|nan", card)
    for name in ("curves", "samples"):
        assert (out / f"{name}.png").stat().st_size > 500
    texts = [path for path in (out / "export").rglob("*") if path.suffix in (".json", ".md", ".txt")]
    assert not [path for path in texts if str(out.parent) in path.read_text()]
    assert not list((out / "export").rglob("*.bin"))
