"""One digest for a whole prior: equal digests mean equal weights, configurations and vocabulary."""

import hashlib
from pathlib import Path

from g2d2.priors.layout import COMPONENTS, config_files, require_folders, weight_files
from operators.errors import InputError

_CHUNK = 1 << 20


def prior_digest(folder: str | Path) -> str:
    """SHA-256 over sorted relative names and contents of the files that are loaded: no README, no other precision."""
    folder = Path(folder)
    require_folders(folder, str(folder))
    files = {path for name in COMPONENTS for path in config_files(folder, name) + weight_files(folder, name)}
    digest = hashlib.sha256()
    for path in sorted(files, key=lambda path: path.relative_to(folder).as_posix()):
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
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
