"""Files and folders that only their owner can read."""

import os
import secrets
from pathlib import Path

from cluster.services.errors import ServiceError


def private_folder(folder: Path, owner: int | None = None) -> Path:
    """The folder, made if need be with mode 0700; one that belongs to somebody else is refused."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    expected = os.geteuid() if owner is None else owner
    if folder.is_symlink() or folder.stat().st_uid not in {expected, os.geteuid()}:
        raise ServiceError(f"folder {folder}: it belongs to another user; choose another with --dir.")
    os.chmod(folder, 0o700)
    if owner is not None:
        os.chown(folder, owner, -1)
    return folder


def write_private(file: Path, text: str) -> None:
    """Written whole or not at all, never readable by others in between."""
    partial = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
    os.replace(partial, file)
