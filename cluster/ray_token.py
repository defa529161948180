"""The token a Ray cluster asks for: read in one way by everything here that shows it."""

import os
from pathlib import Path

from operators import InputError


def token() -> str | None:
    """The cluster's token where Ray keeps it; the file in the home only when RAY_AUTH_MODE asks for it."""
    mode = os.environ.get("RAY_AUTH_MODE", "").lower()
    if mode == "disabled":
        return None
    if given := os.environ.get("RAY_AUTH_TOKEN", "").strip():
        return given
    path = os.environ.get("RAY_AUTH_TOKEN_PATH")
    file = token_file()
    if not path and (mode != "token" or not file.exists()):
        return None
    try:
        return file.read_text().strip()
    except OSError as error:
        name = "RAY_AUTH_TOKEN_PATH" if path else "RAY_AUTH_MODE"
        raise InputError(f"{name}: {file} cannot be read ({error.strerror}); put the cluster's token there.") from None


def token_file() -> Path:
    """Where Ray looks for a token that is not in the environment."""
    return Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token")
