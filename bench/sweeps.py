"""Sweeps for benches: pictures of the held-out set, a grid of the wanted size, results in a folder of their own."""

from pathlib import Path
from typing import Any

from pipelines import cli
from pipelines.plan.sweep_spec import SweepSpec

HELD_OUT = "cifar10-heldout"


def build_manifest(folder: Path, pictures: int) -> str:
    """Deblurring of the first held-out pictures."""
    url = str(folder / "manifest")
    words = ["manifest", "build", HELD_OUT, url, "--task", "gaussian-deblur-32", "--limit", str(pictures)]
    if cli.main(words) != 0:
        raise RuntimeError("the bench's manifest could not be built")
    return url


def specification(folder: Path, manifest: str, **changes: Any) -> SweepSpec:
    """A sweep on the embedded prior without tracking, one device of one thread."""
    values: dict[str, Any] = {
        "name": "bench",
        "manifest": manifest,
        "prior": "cifar10",
        "output": str(folder / "sweep"),
        "metrics": ["psnr"],
        "tracking": {"enabled": False},
        "resources": {"devices": 1, "cpus_per_device": 1, "batch": 16, "shard": 16},
    }
    return SweepSpec.model_validate(values | changes)
