"""Paths as people type them, with `~` for a home."""

import re
from pathlib import Path

from operators.errors import InputError
from operators.validation import shorten

_IMPOSSIBLE = re.compile("[\0\ud800-\udfff]")


def local_path(text: str | Path, field: str) -> Path:
    """The path with its home filled in, or a sentence where no file can have that name."""
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        raise InputError(f"{field} is {shorten(str(text))}: there is no such user, or the user has no home.") from None
    if _IMPOSSIBLE.search(str(path)):
        raise InputError(f"{field} is {shorten(str(text))}: it holds characters that no path can be stored with.")
    return path
