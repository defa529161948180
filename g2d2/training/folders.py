"""Exported folders: written whole or not at all, trained weights in half precision."""

import copy
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from torch import nn

Network = TypeVar("Network", bound=nn.Module)


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """A fresh folder to write into, which takes the place of `folder` when the block ends without an error."""
    fresh = folder.with_name(folder.name + ".partial")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    yield fresh
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)


def halved(network: Network) -> Network:
    """A copy in float16 on the CPU: half the size on disk, and diffusers loads it as float32 again."""
    return copy.deepcopy(network).cpu().half()


def size_megabytes(folder: Path) -> float:
    """Size of a folder's files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
