"""Configuration files of priors."""

import json
from pathlib import Path
from typing import Any

from operators.errors import InputError


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object, or one sentence that names the file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"prior: {path} is missing.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"prior: {path} is not readable JSON ({' '.join(str(error).split())[:120]}).") from None
    if not isinstance(content, dict):
        raise InputError(f"prior: {path} must hold a JSON object.")
    return content
