"""Digests of code: which class of which module, and what that module's file says."""

import hashlib
import inspect
from pathlib import Path

from operators.errors import InputError


def source_file(thing: type) -> Path:
    """The file that defines a class."""
    try:
        return Path(inspect.getfile(thing))
    except (TypeError, OSError):
        raise InputError(
            f"prior: {thing.__module__}:{thing.__qualname__} is defined in no file; write it into a module of its own."
        ) from None


def source_digest(thing: type) -> str:
    """SHA-256 of a class's qualified name and the source of the module that defines it."""
    path = source_file(thing)
    try:
        source = path.read_bytes()
    except OSError as error:
        raise InputError(f"prior: {path} cannot be read ({error.strerror}).") from None
    return hashlib.sha256(f"{thing.__module__}:{thing.__qualname__}\0".encode() + source).hexdigest()
