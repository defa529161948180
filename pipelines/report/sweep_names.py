"""Names of several sweeps beside each other: one that was used before gets a number."""

import re
from collections.abc import Iterable


def slug(name: str) -> str:
    """A name that every web server and file system takes."""
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-") or "unnamed"


def unused(name: str, used: Iterable[str]) -> str:
    """The name, with a number where the links of another would be the same."""
    taken, wanted, number = {slug(one) for one in used}, name, 1
    while slug(wanted) in taken:
        number += 1
        wanted = f"{name} ({number})"
    return wanted
