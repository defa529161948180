"""A tiny data folder in the layout of the npm package, and recipes that train in seconds."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import g2d2  # noqa: F401
from g2d2.training.gaussian.latent_recipe import LatentRecipe
from g2d2.training.gaussian.pixel_recipe import PixelRecipe
from g2d2.training.gaussian.unet_settings import UNetSettings
from g2d2.training.masked_image.masked_settings import MaskedRecipe, RangeSettings, UViTSettings
from g2d2.training.masked_motion.motion_recipe import (
    MotionRecipe,
    MotionTransformerSettings,
    MotionVQVAESettings,
)
from g2d2.training.settings import Recipe, StageLimits
from g2d2.training.vq_diffusion.vq_recipe import TransformerSettings, VQDiffusionRecipe, VQVAESettings
from g2d2.training.vq_diffusion.vq_training import train_vq_diffusion

BRIEF = StageLimits(minutes=60, steps=4, report_every=2)


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cifar")
    draw = np.random.default_rng(0)
    for name in (*(f"data_batch_{n}.png" for n in range(1, 6)), "test_batch.png"):
        Image.fromarray(draw.integers(0, 256, (20, 1024, 3), dtype=np.uint8)).save(folder / name)
    (folder / "train_lables.json").write_text(json.dumps([n % 10 for n in range(100)]))
    (folder / "test_lables.json").write_text(json.dumps([n % 10 for n in range(20)]))
    return folder


STANDING = np.array(
    [
        (0, 95, 0), (6, 87, 0), (-6, 87, 0), (0, 107, 0), (9, 48, 0), (-9, 48, 0), (0, 121, 0), (9, 8, -4), (-9, 8, -4),
        (0, 127, 0), (12, 2, 8), (-12, 2, 8), (0, 148, 0), (8, 139, 0), (-8, 139, 0), (0, 157, 5), (19, 142, 0),
        (-19, 142, 0), (22, 116, 0), (-22, 116, 0), (22, 90, 4), (-22, 90, 4),
    ]
) / 100  # fmt: skip
"""Joints of a body that stands and faces +z, in metres."""


def walking(frames: int, seed: int) -> np.ndarray:
    """Joints (frames, 22, 3) of a stiff body that sways along a straight line."""
    draw = np.random.default_rng(seed)
    sway = 0.03 * np.sin(np.linspace(0, frames / 4, frames)[:, None, None] + draw.uniform(0, 6, (1, 22, 3)))
    forward = np.zeros((frames, 1, 3))
    forward[:, 0, 2] = draw.uniform(0.01, 0.06) * np.arange(frames)
    return STANDING + sway + forward


def stored_joints(joints: np.ndarray) -> bytes:
    """Differences in time of half-millimetres."""
    places = (joints * 2000).round().astype(np.int16)
    return np.diff(places, axis=0, prepend=np.zeros_like(places[:1])).astype("<i2").tobytes()


@pytest.fixture(scope="session")
def motion_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Parquet file of joints; subjects 9, 25 and 35 are held out, and 64 shows what 63 does."""
    rows = [
        (f"{subject:02}_{take:02}", subject, label, stored_joints(walking(frames, seed)))
        for subject, take, label, frames, seed in [
            (1, 1, "walk, veer left", 230, 0),
            (1, 2, "Run", 120, 1),
            (2, 1, "", 205, 2),
            (63, 1, "", 90, 3),
            (64, 1, "Swing", 90, 3),
            (3, 1, "monkey (human subject)", 60, 4),
            (3, 2, "too short", 15, 5),
            (9, 1, "walk", 210, 6),
            (25, 1, "jump", 80, 7),
            (35, 1, "walk", 199, 8),
        ]
    ]
    path = tmp_path_factory.mktemp("joints") / "cmu-joints.parquet"
    pq.write_table(
        pa.table(dict(zip(("clip", "subject", "label", "joints"), zip(*rows, strict=True), strict=True))), path
    )
    return path


@pytest.fixture(scope="session")
def tiny_recipe(data_folder: Path) -> Callable[[Path], VQDiffusionRecipe]:
    """Recipes that differ in their output folder alone."""
    return lambda out: VQDiffusionRecipe(
        out=out,
        data=data_folder,
        device="cpu",
        vqvae=VQVAESettings(channels=(4, 8, 8), groups=2, codes=8, code_dim=4, batch=8, unquantised=0.3),
        transformer=TransformerSettings(layers=1, heads=2, head_dim=8, timesteps=6, text_width=16, batch=4),
        vqvae_limits=BRIEF,
        transformer_limits=BRIEF,
    )


@pytest.fixture(scope="session")
def tiny_prior(tiny_recipe: Callable[[Path], VQDiffusionRecipe], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny VQ-Diffusion prior, whose tokeniser other families take over."""
    return train_vq_diffusion(tiny_recipe(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="session")
def tiny_recipes(
    data_folder: Path, motion_file: Path, tiny_prior: Path, tiny_recipe: Callable[[Path], VQDiffusionRecipe]
) -> dict[str, Callable[[Path], Recipe]]:
    """For each family, recipes that differ in their output folder alone."""
    unet = UNetSettings(channels=(4, 8), attention_levels=1, head_dim=4, groups=2, batch=4)
    uvit = UViTSettings(layers=1, heads=2, head_dim=8, batch=4)
    run = {"data": data_folder, "device": "cpu"}
    return {
        "vq_diffusion": tiny_recipe,
        "pixel_diffusion": lambda out: PixelRecipe(out=out, **run, unet=unet, limits=BRIEF),
        "latent_diffusion": lambda out: LatentRecipe(out=out, **run, tokeniser=tiny_prior, unet=unet, limits=BRIEF),
        "masked_image": lambda out: MaskedRecipe(
            out=out,
            **run,
            tokeniser=tiny_prior,
            unit_range=RangeSettings(batch=4),
            range_limits=BRIEF,
            uvit=uvit,
            limits=BRIEF,
        ),
        "masked_motion": lambda out: MotionRecipe(
            out=out,
            data=motion_file,
            device="cpu",
            vqvae=MotionVQVAESettings(width=8, depth=1, codes=8, code_width=4, window=32, batch=4, unquantised=0.3),
            transformer=MotionTransformerSettings(
                width=32, heads=2, layers=1, text_width=32, text_length=24, passes=1, batch=4
            ),
            vqvae_limits=BRIEF,
            transformer_limits=BRIEF,
        ),
    }
