"""A tiny data folder in the layout of the npm package, and a recipe that trains in seconds."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import g2d2  # noqa: F401
from g2d2.training.recipe import Recipe, StageLimits, TransformerSettings, VQVAESettings


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cifar")
    draw = np.random.default_rng(0)
    for name in (*(f"data_batch_{n}.png" for n in range(1, 6)), "test_batch.png"):
        Image.fromarray(draw.integers(0, 256, (20, 1024, 3), dtype=np.uint8)).save(folder / name)
    (folder / "train_lables.json").write_text(json.dumps([n % 10 for n in range(100)]))
    (folder / "test_lables.json").write_text(json.dumps([n % 10 for n in range(20)]))
    return folder


@pytest.fixture(scope="session")
def tiny_recipe(data_folder: Path) -> Callable[[Path], Recipe]:
    """Recipes that differ in their output folder alone."""
    return lambda out: Recipe(
        out=out,
        data=data_folder,
        device="cpu",
        vqvae=VQVAESettings(channels=(4, 8, 8), groups=2, codes=8, code_dim=4, batch=8, unquantised=0.3),
        transformer=TransformerSettings(layers=1, heads=2, head_dim=8, timesteps=6, text_width=16, batch=4),
        vqvae_limits=StageLimits(minutes=60, steps=4, report_every=2),
        transformer_limits=StageLimits(minutes=60, steps=4, report_every=2),
    )
