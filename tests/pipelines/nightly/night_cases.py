"""Nights made of plain numbers, and a nightly specification of a few seconds."""

import numpy as np
import pyarrow as pa
import yaml
from PIL import Image

from eval.scores import score_schema
from pipelines.nightly.records import CellRecord, Level, NightRecord, Reading
from tests.pipelines.sweep_cases import run

PLANTED = "tests.pipelines.nightly.plants:Planted"


def reading(seconds, peak=100, device="cpu", turn=0):
    return Reading(seconds=seconds, peak_bytes=peak, device=device, turn=turn)


def level(mean, low=None, high=None):
    return Level(mean=mean, low=low, high=high)


def night(called, levels, started=None, **changes):
    """A whole night with one cell."""
    cells = [CellRecord(cell="c", label="star", levels=levels)]
    values = {
        "name": "n", "night": called, "started": started or called, "finished": "", "expected": 4, "committed": 4,
        "failed": 0, "complete": True, "facts": {"manifest digest": "m"}, "calibration": [], "cells": cells,
        "outcome": "passed", "baseline": None, "exit_code": 0,
    }  # fmt: skip
    return NightRecord(**(values | changes))


def score_table(shift=0.0, rows=4):
    values = np.random.default_rng(0).normal(23, 1, rows) + shift
    lines = [
        {"item": str(i), "measurement": f"m{i}", "measurement_digest": f"d{i}", "cell": "c", "seed": 0, "psnr": value}
        for i, value in enumerate(values.tolist())
    ]
    return pa.Table.from_pylist(lines, schema=score_schema(["psnr"], {}))


def plain_pictures(folder, count):
    """Pictures that a tiny prior can come near to: one colour each, and a little noise."""
    random = np.random.default_rng(0)
    folder.mkdir(parents=True)
    for index in range(count):
        colour = random.integers(20, 235, (1, 1, 3)) + random.normal(0, 12, (8, 8, 3))
        Image.fromarray(colour.clip(0, 255).astype(np.uint8)).save(folder / f"p{index:02d}.png")
    return folder


def tiny_nightly(folder, prior, pictures=24, **changes):
    """A nightly specification in `folder`, with its manifest built."""
    blur = ["--operator", "gaussian_blur", "--set", "kernel_size=5", "std=0.8", "--sigma", "0.05"]
    source = plain_pictures(folder / "pictures", pictures)
    assert run("manifest", "build", source, folder / "manifest", *blur, "--prompt", "a b") == 0
    settings = {"steps": 4, "iterations": 5, "guidance": 1, "gamma": 0.1, "learning_rate": 20.0}
    values = {
        "name": "tiny",
        "output": str(folder / "out"),
        "sweep": {
            "manifest": str(folder / "manifest"),
            "prior": str(prior),
            "solver": {"method": PLANTED, "settings": settings},
            "metrics": ["psnr", "residual"],
            "tracking": {"enabled": False},
            "resources": {"devices": 1},
        },
        "speed": None,
        "memory": None,
    }
    path = folder / "nightly.yaml"
    path.write_text(yaml.safe_dump(values | changes))
    return path
