"""The whole road on tiny settings: train, resume, export, load with stock classes, generate, report."""

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from g2d2.priors.vq_diffusion import COMPONENT_CLASSES
from g2d2.training.export import load_pipeline
from g2d2.training.loop import Interrupted
from g2d2.training.recipe import Recipe, StageLimits
from g2d2.training.report import report_prior
from g2d2.training.train import train_prior
from g2d2.training.transformer import TransformerStage
from g2d2.training.vqvae import VQVAEStage
from operators.errors import InputError
from pipelines.cli import main


@pytest.fixture(scope="module")
def trained(tiny_recipe: Callable[[Path], Recipe], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run")
    train_prior(tiny_recipe(out))
    return out


def weights(folder: Path) -> dict[str, torch.Tensor]:
    files = sorted((folder / "export").rglob("*.safetensors"))
    return {f"{file.parent.name}/{name}": value for file in files for name, value in load_file(file).items()}


@pytest.mark.parametrize(("stage", "at"), [(VQVAEStage, 1), (VQVAEStage, 3), (TransformerStage, 2)])
def test_resumed_run_equals_uninterrupted(
    stage: type[VQVAEStage] | type[TransformerStage],
    at: int,
    trained: Path,
    tiny_recipe: Callable[[Path], Recipe],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = stage.step

    def interrupted_step(self: object, index: int, fraction: float) -> dict[str, float]:
        if index == at:
            signal.raise_signal(signal.SIGINT)
        return step(self, index, fraction)  # type: ignore[arg-type]

    recipe = tiny_recipe(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(stage, "step", interrupted_step)
        with pytest.raises(Interrupted, match=f"step {at + 1}"):
            train_prior(recipe)
    train_prior(recipe)
    whole, resumed = weights(trained), weights(tmp_path)
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


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


def test_report_measures_and_draws(trained: Path, tiny_recipe: Callable[[Path], Recipe]) -> None:
    numbers = report_prior(
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


def test_a_larger_budget_trains_the_prior_but_not_the_tokeniser(
    tiny_recipe: Callable[[Path], Recipe], tmp_path: Path
) -> None:
    recipe = tiny_recipe(tmp_path)
    train_prior(recipe)
    before = weights(tmp_path)
    more = StageLimits(minutes=60, steps=6)
    train_prior(recipe.model_copy(update={"vqvae_limits": more, "transformer_limits": more}))
    after = weights(tmp_path)
    same = {name.split("/")[0]: True for name in before}
    for name, value in before.items():
        same[name.split("/")[0]] &= torch.equal(value, after[name])
    assert same["vqvae"]
    assert not same["transformer"]


def test_a_run_can_start_from_a_prior_and_keeps_its_tokeniser(
    trained: Path, tiny_recipe: Callable[[Path], Recipe], tmp_path: Path
) -> None:
    recipe = tiny_recipe(tmp_path)
    hardly = recipe.transformer.model_copy(update={"lr_matrices": 1e-7, "lr_rest": 1e-7})
    recipe = recipe.model_copy(update={"start": trained / "export", "seed": 3, "transformer": hardly})
    train_prior(recipe)
    before, after = weights(trained), weights(tmp_path)
    assert all(torch.equal(before[name], after[name]) for name in before if name.startswith("vqvae/"))
    assert any(not torch.equal(before[name], after[name]) for name in before)
    assert all(torch.allclose(before[name], after[name], atol=1e-5) for name in before)
    assert not [file for file in (tmp_path / "export").rglob("*.json") if str(trained) in file.read_text()]
    report_prior(recipe, images=20, log=lambda line: None)
    assert "from there the prior alone, 4 steps of 4 images" in (tmp_path / "export" / "README.md").read_text()
    assert recipe.with_minutes(30).transformer_limits.minutes == 30
    other = hardly.model_copy(update={"heads": 4})
    with pytest.raises(InputError, match=r"start: the transformer of .* has another shape than the recipe's"):
        train_prior(recipe.model_copy(update={"out": tmp_path / "other", "transformer": other}))


def test_the_prior_learns_to_keep_what_is_not_masked(tiny_recipe: Callable[[Path], Recipe], tmp_path: Path) -> None:
    """A solver asks the prior about every token, not only about masked ones."""
    limits = StageLimits(minutes=60, steps=120, report_every=60)
    found = {}
    for weight in (0.0, 1.0):
        recipe = tiny_recipe(tmp_path / str(weight))
        settings = recipe.transformer.model_copy(update={"kept_weight": weight})
        train_prior(recipe.model_copy(update={"transformer": settings, "transformer_limits": limits}))
        curve = json.loads((recipe.out / "transformer-curve.json").read_text())
        found[weight] = curve[-1]["held_out_kept"]
    assert found[1.0] < 0.5 < 1.0 < found[0.0]


def test_another_recipe_in_the_same_folder_is_refused(trained: Path, tiny_recipe: Callable[[Path], Recipe]) -> None:
    recipe = tiny_recipe(trained).model_copy(update={"seed": 7})
    with pytest.raises(InputError, match="another seed"):
        train_prior(recipe)


def test_command_reports_bad_input_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prior", "train", str(tmp_path / "out"), "--data", str(tmp_path), "--device", "cpu"]) == 2
    assert capsys.readouterr().err.startswith("g2d2 prior: data folder")
    assert main(["prior", "train", str(tmp_path / "out"), "--threads", "0"]) == 2
