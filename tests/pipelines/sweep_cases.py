"""A small sweep that every test of the pipeline starts from: six 8x8 pictures, a tiny prior, quick settings."""

import numpy as np
import yaml
from PIL import Image

from pipelines import cli


def run(*words):
    return cli.main([str(word) for word in words])


def build_manifest(folder, *options, pictures=6, seed=0):
    """A manifest of random pictures under one blur."""
    random = np.random.default_rng(seed)
    source = folder / "pictures"
    source.mkdir(parents=True, exist_ok=True)
    for index in range(pictures):
        Image.fromarray(random.integers(0, 255, (8, 8, 3), dtype=np.uint8)).save(source / f"p{index}.png")
    blur = ["--operator", "gaussian_blur", "--set", "kernel_size=5", "std=0.8", "--sigma", "0.05"]
    assert run("manifest", "build", source, folder / "manifest", *blur, "--prompt", "a b", *options) == 0
    return str(folder / "manifest")


def specification(manifest, prior, output, **changes):
    """Two processes times two eta_kl: 24 work items of a few milliseconds."""
    values = {
        "name": "small",
        "manifest": str(manifest),
        "prior": str(prior),
        "output": str(output),
        "solver": {"settings": {"steps": 4, "iterations": 3, "guidance": 1}},
        "grid": {"cross": {"process": ["star", "markov"], "eta_kl": [0.001, 0.1]}},
        "metrics": ["psnr", "residual"],
        "tracking": {"enabled": False},
        "resources": {"shard": 5, "devices": 1},
    }
    return values | changes


def write_spec(path, values):
    path.write_text(yaml.safe_dump(values))
    return path
