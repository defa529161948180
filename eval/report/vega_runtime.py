"""The program that draws specifications in a page: Vega with its interpreter, which needs no `eval` of strings.

It comes out of the installed `vl-convert-python` and is the same for every page of one version. Making it takes
seconds, so it is kept in the user's cache folder.
"""

import os
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert

from operators.pictures import write_bytes

VEGA_LITE = "6.4"
"""Version of the language that specifications are written in."""


@cache
def runtime() -> str:
    """JavaScript that defines `window.vegaEmbed`."""
    kept = _kept()
    if kept is not None and kept.is_file():
        return kept.read_text(encoding="utf-8")
    made: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    if kept is not None:
        with suppress(OSError):  # a home that cannot be written to costs the seconds again
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(made.encode(), kept)
    return made


def _kept() -> Path | None:
    """Where this user's programs keep what can be made again; None for a user without a home."""
    given = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):
        return Path(given or Path.home() / ".cache", "g2d2", f"vega-{version('vl-convert-python')}-{VEGA_LITE}.js")
    return None
