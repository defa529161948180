"""What every training does around its stages: claim the folder, take the device, read the data, keep the curves."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from g2d2.training.data import Split, fetch, load_split, to_float
from g2d2.training.loop import History
from g2d2.training.settings import Recipe
from operators.errors import InputError
from operators.torch_device import usable_device

Draw = Callable[[int, torch.Generator], Tensor]
"""Draws a training batch on the CPU: (count, generator) -> (B, C, H, W)."""


def claim(recipe: Recipe) -> None:
    """Remember the recipe beside its checkpoints, and refuse to mix two recipes in one folder."""
    recipe.out.mkdir(parents=True, exist_ok=True)
    path = recipe.out / "recipe.json"
    values = {name: getattr(recipe, name) for name in recipe.fixed}
    # A prior is what its weights are, wherever it lies.
    digests = {name: weights_digest(value) for name, value in values.items() if isinstance(value, Path)}
    record = mine = {"family": recipe.family, **json.loads(recipe.model_dump_json()), "digests": digests}
    if path.exists():
        before = {"family": "vq_diffusion", **json.loads(path.read_text())}  # the first recipe did not name itself
        if "digests" in before:
            before, mine = before | before["digests"], mine | digests
        changed = sorted(key for key in {"family", *recipe.fixed} if before.get(key) != mine.get(key))
        if changed:
            raise InputError(f"{recipe.out} holds a run with another {', '.join(changed)}: use a new folder")
    path.write_text(json.dumps(record, indent=2) + "\n")


def weights_digest(folder: Path) -> str:
    """SHA-256 of a folder's safetensors and their names."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.safetensors")):
        digest.update(str(path.relative_to(folder)).encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def take_device(recipe: Recipe) -> torch.device:
    """Set torch's threads and return the recipe's device; `auto` takes a GPU when there is one."""
    if recipe.threads is not None:
        torch.set_num_threads(recipe.threads)
    if recipe.device == "auto":
        return usable_device("cuda" if torch.cuda.is_available() else "cpu")
    return usable_device(recipe.device)


def read_split(recipe: Recipe, split: str) -> Split:
    """`train` or `test` of the recipe's data, fetched once where no folder is given."""
    return load_split(recipe.data if recipe.data is not None else fetch(recipe.out / "data"), split)


def drawing(images: Tensor) -> Draw:
    """Draws images in [-1, 1], half of them mirrored, from bytes (N, 3, H, W)."""

    def draw(count: int, generator: torch.Generator) -> Tensor:
        rows = torch.randint(len(images), (count,), generator=generator)
        batch = to_float(images[rows])
        flips = torch.rand(count, generator=generator) < 0.5
        return torch.where(flips[:, None, None, None], batch.flip(3), batch)

    return draw


def write_curve(folder: Path, name: str, history: History) -> None:
    """Keep a stage's log as JSON."""
    (folder / f"{name}-curve.json").write_text(json.dumps(history, indent=1) + "\n")


def read_curve(folder: Path, name: str) -> History:
    """A stage's log; empty where a run took that stage from another prior."""
    path = folder / f"{name}-curve.json"
    history: History = json.loads(path.read_text()) if path.exists() else []
    return history
