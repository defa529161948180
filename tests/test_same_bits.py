"""Reconstructions and scores of held-out photographs, held against those that were recorded.

Rounding belongs to a machine: on one of the recorded kind every bit must be equal, on any other the means are close.
`G2D2_RECORD=1` adds the machine at hand; do that only where a change is meant and the version of G2D2 is raised.
"""

import json
import os
import platform
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pyarrow.dataset as ds
import pytest
import torch
import yaml

RECORDED = Path(__file__).parent / "recorded" / "reconstructions.json"
METRICS = ("psnr", "ssim", "lpips_vgg", "residual")
CLOSE = {"psnr": 0.5, "ssim": 0.03, "lpips_vgg": 0.03, "residual": 0.1}
"""How far the mean over 8 images may lie on a machine with other rounding."""


def machine():
    """What decides rounding: torch's version and kernels, and the processor."""
    names = [
        line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith(("model", "cpu family"))
    ]
    processor = blake2b("\n".join(sorted(set(names))).encode(), digest_size=4).hexdigest()
    return f"torch {torch.__version__} {torch.backends.cpu.get_cpu_capability()} {platform.machine()} {processor}"


def g2d2(*words):
    done = subprocess.run([sys.executable, "-m", "pipelines.cli", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def groups(tmp_path_factory):
    """Pixels and scores by task and process, in the order of the measurements."""
    folder = tmp_path_factory.mktemp("same-bits")
    tasks = ["sr4-32", "gaussian-deblur-32"]
    g2d2("manifest", "build", "cifar10-heldout", folder / "manifest", "--task", *tasks, "--limit", "8")
    specification = {
        "name": "same-bits",
        "manifest": str(folder / "manifest"),
        "prior": "cifar10",
        "output": str(folder / "sweep"),
        "solver": {"preset": "tuned"},
        "grid": {"cross": {"process": ["star", "markov"]}},
        "metrics": list(METRICS),
        "keep": {"floats": True},
        "resources": {"cpus_per_device": 1},
        "tracking": {"enabled": False},
    }
    (folder / "sweep.yaml").write_text(yaml.safe_dump(specification))
    g2d2("sweep", folder / "sweep.yaml")
    solved = ds.dataset(folder / "sweep" / "solved").to_table(["item", "floats"]).to_pylist()
    pixels = {row["item"]: np.array(row["floats"], np.float32) for row in solved}
    columns = ["item", "task", "process", "measurement", *METRICS]
    scores = ds.dataset(folder / "sweep" / "scores").to_table(columns).to_pylist()
    rows = {}
    for row in sorted(scores, key=lambda row: (row["task"], row["process"], row["measurement"])):
        rows.setdefault(f"{row['task']} {row['process']}", []).append(row | {"pixels": pixels[row["item"]]})
    return rows


def record(rows):
    """Digests of a group's pixels, and its scores to the last bit."""
    return {
        "pixels": [blake2b(row["pixels"].tobytes(), digest_size=16).hexdigest() for row in rows],
        **{name: [row[name].hex() for row in rows] for name in METRICS},
    }


@pytest.mark.slow
def test_reconstructions_and_scores_are_those_recorded(groups):
    """8 photographs, both tasks, star and Markov, at the settings that ship with the prior."""
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    here = {name: record(rows) for name, rows in groups.items()}
    if os.environ.get("G2D2_RECORD"):
        RECORDED.write_text(json.dumps(recorded | {machine(): here}, indent=1) + "\n")
        return
    assert {name: len(rows) for name, rows in groups.items()} == dict.fromkeys(here, 8)
    assert len(here) == 4
    if machine() in recorded:
        assert here == recorded[machine()]
    for known in recorded.values():
        for name, rows in groups.items():
            for metric, tolerance in CLOSE.items():
                mean = np.mean([float.fromhex(value) for value in known[name][metric]])
                assert np.mean([row[metric] for row in rows]) == pytest.approx(mean, abs=tolerance), (name, metric)
