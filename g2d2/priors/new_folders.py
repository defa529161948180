"""Folders of converted priors: written whole, or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from operators.errors import InputError


def require_new(out: Path) -> None:
    """Refuse a folder that holds something already."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"out: {out} exists already; give a new folder.")


@contextmanager
def written_whole(out: Path) -> Iterator[Path]:
    """A folder to write into, which becomes `out` when the block ends without an error."""
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        yield partial
        if out.exists():
            out.rmdir()
        os.replace(partial, out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
