"""Digests of files: equal digests mean equal weights, configurations and vocabulary."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from operators.errors import InputError

_CHUNK = 1 << 20


def files_digest(folder: Path, files: Iterable[Path]) -> str:
    """SHA-256 over the sorted names, relative to `folder`, and the contents of some of its files."""
    digest = hashlib.sha256()
    for path in sorted(set(files), key=lambda path: path.relative_to(folder).as_posix()):
        try:
            # name and length frame each file, so that no byte can move from one file to the next unnoticed
            digest.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
            with path.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
        except OSError as error:
            raise InputError(f"prior: {path} cannot be read ({error.strerror}).") from None
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of one file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
