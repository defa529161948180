"""Sources of priors that ask for another size of image: `sd15@256`, `priors/ldm@320x240`. Imports no model library."""

import re

from operators.errors import InputError

_SUFFIX = re.compile(r"(?P<source>.+)@(?P<width>\d{1,5})(x(?P<height>\d{1,5}))?")


def split_size(source: str) -> tuple[str, tuple[int, int] | None]:
    """The prior alone, and the size (height, width) that its source ends in; None where it ends in none."""
    match = _SUFFIX.fullmatch(source)
    if match is None:
        return source, None
    width = int(match["width"])
    height = int(match["height"] or width)
    if min(width, height) < 1:
        raise InputError(f"prior: {source!r} asks for images of {width}x{height}; a side must be at least 1.")
    return match["source"], (height, width)
