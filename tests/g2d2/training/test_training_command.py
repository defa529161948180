"""`g2d2 prior train`: what the command line makes of its options."""

from pathlib import Path
from typing import Any

import pytest

from g2d2.training import recipes
from g2d2.training.gaussian.latent_recipe import LatentRecipe
from g2d2.training.recipes import Family
from pipelines.cli import main


def test_bad_input_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = ["prior", "train", "--out", str(tmp_path / "out"), "--device", "cpu", "--family"]
    for family in recipes.FAMILIES:
        assert main([*train, family, "--data", str(tmp_path)]) == 2
        assert capsys.readouterr().err.startswith("g2d2 prior: data folder")
        (tmp_path / "out" / "recipe.json").unlink()
    assert main([*train, "pixel_diffusion", "--threads", "0"]) == 2
    assert main([*train, "pixel_diffusion", "--minutes", "0"]) == 2
    assert main([*train, "pixel_diffusion", "--tokeniser", "cifar10"]) == 2
    assert "tokeniser: the family pixel_diffusion has no such option" in capsys.readouterr().err
    assert main([*train, "masked_image", "--start", "cifar10"]) == 2


def test_a_folder_with_a_run_needs_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, Any]] = []
    double = Family(
        LatentRecipe,
        train=lambda recipe: calls.append(("train", recipe)) or recipe.out,
        report=lambda recipe, lpips: calls.append(("report", recipe)) or {},
    )
    monkeypatch.setitem(recipes.FAMILIES, "latent_diffusion", double)
    command = ["prior", "train", "--family", "latent_diffusion", "--out", str(tmp_path), "--minutes", "7"]
    assert main([*command, "--clock", "processor"]) == 0
    assert [name for name, _ in calls] == ["train", "report"]
    recipe = calls[0][1]
    assert recipe.limits.minutes == pytest.approx(7)
    assert recipe.limits.clock == "processor"
    assert (recipe.tokeniser / "vqvae" / "config.json").is_file()
    (tmp_path / "recipe.json").write_text("{}")
    assert main(command) == 2
    assert main([*command, "--resume"]) == 0
    calls.clear()
    assert main([*command, "--report-only"]) == 0
    assert [name for name, _ in calls] == ["report"]
