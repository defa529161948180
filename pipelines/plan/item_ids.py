"""Ids that are hashes of everything that decides a result, so that different work never mixes."""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

ITEM_BYTES = 16


def fingerprint(*parts: Any) -> str:
    """32 hex digits over plain values; equal values give equal digits on every machine."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def recipe_id(
    method: str, version: int, prior_digest: str, dtype: str, settings: Mapping[str, Any], variants: Sequence[str] = ()
) -> str:
    """How a measurement is solved, the seed apart. A method's raised version changes every id of its results.

    `variants` are forms of the networks, such as compiled ones, that compute the same up to rounding.
    """
    return fingerprint("recipe", version, method, prior_digest, dtype, dict(settings), *variants)


def cell_id(task: str, method: str, prior: str | None, settings: Mapping[str, Any]) -> str:
    """A grid cell: one task under one set of settings. Code and weights stay out, so that nights can be compared."""
    return fingerprint("cell", task, method, prior or "", dict(settings))


def item_id(measurement_digest: str, recipe: str, seed: int) -> str:
    """One reconstruction. Plain concatenation of fixed-width parts: a grid may hold millions."""
    return blake2b(measurement_digest.encode() + item_tail(recipe, seed), digest_size=ITEM_BYTES).hexdigest()


def item_tail(recipe: str, seed: int) -> bytes:
    """What is hashed of an item besides its measurement: the same for all of them."""
    return f"{recipe}{seed}".encode()


def solver_seed(measurement_seed: int, seed: int) -> int:
    """The seed of all draws of an item: the same for every cell, so that cells are compared on equal noise."""
    return int.from_bytes(blake2b(f"{measurement_seed}/{seed}".encode(), digest_size=7).digest(), "big")
