"""The whole road on tiny settings: train, resume, export, load with stock classes, generate, report."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from g2d2.priors.vq_diffusion.components import COMPONENT_CLASSES
from g2d2.training.settings import StageLimits
from g2d2.training.vq_diffusion.vq_export import load_pipeline
from g2d2.training.vq_diffusion.vq_recipe import VQDiffusionRecipe
from g2d2.training.vq_diffusion.vq_report import report_vq_diffusion
from g2d2.training.vq_diffusion.vq_training import train_vq_diffusion
from operators.errors import InputError


@pytest.fixture(scope="module")
def trained(tiny_recipe: Callable[[Path], VQDiffusionRecipe], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run")
    train_vq_diffusion(tiny_recipe(out))
    return out


def weights(folder: Path) -> dict[str, torch.Tensor]:
    files = sorted((folder / "export").rglob("*.safetensors"))
    return {f"{file.parent.name}/{name}": value for file in files for name, value in load_file(file).items()}


def test_export_loads_with_stock_classes_and_generates(trained: Path) -> None:
    folder = trained / "export"
    index = json.loads((folder / "model_index.json").read_text())
    assert index["_class_name"] == "VQDiffusionPipeline"
    assert set(COMPONENT_CLASSES) <= set(index)
    assert not list(folder.rglob("*.bin"))
    pipeline = load_pipeline(folder)
    assert type(pipeline.transformer.transformer_blocks[0].norm1).__name__ == "AdaLayerNorm"
    generator = torch.Generator().manual_seed(0)
    options = {"num_inference_steps": 6, "generator": generator, "output_type": "numpy"}
    for guidance in (1.0, 3.0):
        images = pipeline(["a photo of a frog", "a zebra"], guidance_scale=guidance, **options).images
        assert images.shape == (2, 32, 32, 3)


def test_old_style_vocabulary_files_are_written(trained: Path) -> None:
    folder = trained / "export" / "tokenizer"
    assert {"vocab.json", "merges.txt", "tokenizer_config.json"} <= {path.name for path in folder.iterdir()}


def test_report_measures_and_draws(trained: Path, tiny_recipe: Callable[[Path], VQDiffusionRecipe]) -> None:
    numbers = report_vq_diffusion(
        tiny_recipe(trained),
        lpips=lambda a, b: (a - b).abs().mean((1, 2, 3)),
        images=20,
        log=lambda line: None,
    )
    assert set(numbers["nats"]) == {"25%", "50%", "75%", "100%"}
    assert numbers["reconstruction"].keys() == {"psnr", "lpips"}
    assert 0 < numbers["unigram_nats"] < 5
    assert "8x8 of 8 codes" in (trained / "export" / "README.md").read_text()
    for name in ("curves", "reconstructions", "samples", "samples-guided"):
        assert (trained / f"{name}.png").stat().st_size > 500


def test_a_run_can_start_from_a_prior_and_keeps_its_tokeniser(
    trained: Path, tiny_recipe: Callable[[Path], VQDiffusionRecipe], tmp_path: Path
) -> None:
    recipe = tiny_recipe(tmp_path)
    hardly = recipe.transformer.model_copy(update={"lr_matrices": 1e-7, "lr_rest": 1e-7})
    recipe = recipe.model_copy(update={"start": trained / "export", "seed": 3, "transformer": hardly})
    train_vq_diffusion(recipe)
    before, after = weights(trained), weights(tmp_path)
    assert all(torch.equal(before[name], after[name]) for name in before if name.startswith("vqvae/"))
    assert any(not torch.equal(before[name], after[name]) for name in before)
    assert all(torch.allclose(before[name], after[name], atol=1e-5) for name in before)
    assert not [file for file in (tmp_path / "export").rglob("*.json") if str(trained) in file.read_text()]
    report_vq_diffusion(recipe, images=20, log=lambda line: None)
    assert "from there the prior alone, 4 steps of 4 images" in (tmp_path / "export" / "README.md").read_text()
    assert recipe.with_minutes(30).transformer_limits.minutes == 30
    other = hardly.model_copy(update={"heads": 4})
    with pytest.raises(InputError, match=r"start: the transformer of .* has another shape than the recipe's"):
        train_vq_diffusion(recipe.model_copy(update={"out": tmp_path / "other", "transformer": other}))


def test_the_prior_learns_to_keep_what_is_not_masked(
    tiny_recipe: Callable[[Path], VQDiffusionRecipe], tmp_path: Path
) -> None:
    """A solver asks the prior about every token, not only about masked ones."""
    limits = StageLimits(minutes=60, steps=120, report_every=60)
    found = {}
    for weight in (0.0, 1.0):
        recipe = tiny_recipe(tmp_path / str(weight))
        settings = recipe.transformer.model_copy(update={"kept_weight": weight})
        train_vq_diffusion(recipe.model_copy(update={"transformer": settings, "transformer_limits": limits}))
        curve = json.loads((recipe.out / "transformer-curve.json").read_text())
        found[weight] = curve[-1]["held_out_kept"]
    assert found[1.0] < 0.5 < 1.0 < found[0.0]
