"""Compare a prior's files with what its publisher states of them."""

import math
from collections.abc import Callable
from pathlib import Path

from g2d2.priors.catalog import KnownPrior
from g2d2.priors.digest import file_digest
from operators.errors import InputError

_ROUNDING = 0.005
"""Relative error of a size stated to three digits."""


def check_published(folder: Path, known: KnownPrior, digest: Callable[[], str]) -> None:
    """Sizes and digests as stated, for the files that are there under the publisher's names.

    `digest` is asked for that of the whole prior where one is stated.
    """
    for file in known.files:
        path = folder / file.path
        if not path.is_file():
            continue  # a copy saved anew holds the same weights under another name; its structure is checked elsewhere
        size = path.stat().st_size
        if not math.isclose(size, file.size, rel_tol=0 if file.exact else _ROUNDING):
            about = "" if file.exact else "about "
            raise InputError(f"prior: {path} has {size} bytes; {known.name!r} publishes it with {about}{file.size}.")
        if file.sha256 is not None and (present := file_digest(path)) != file.sha256:
            raise InputError(f"prior: {path} has SHA-256 {present}; {known.name!r} publishes it with {file.sha256}.")
    if known.digest is not None and (present := digest()) != known.digest:
        raise InputError(f"prior: {folder} has digest {present}; {known.name!r} is published with {known.digest}.")
