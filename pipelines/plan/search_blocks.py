"""The measurements of a search: a block for each batch, so that what is proposed from scores races on others.

A cell that was proposed because of luck on some measurements has that luck no more on those of its own batch. What is
set aside for the winner comes with the last block.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class Block:
    """What one batch of a search meets."""

    search: str
    """Id of the search."""

    number: int
    """From 0."""

    digests: frozenset[str]

    def of(self, places: pa.Table) -> pa.Table:
        """The measurements of the block among those of a manifest."""
        wanted = pa.array(sorted(self.digests), pa.string())
        return places.filter(pc.is_in(places["digest"].cast(pa.string()), value_set=wanted)).combine_chunks()


def cut_blocks(order: Sequence[str], pool: int, count: int) -> list[tuple[str, ...]]:
    """The first `pool` measurements in blocks as equal as can be; the last block has all that come after them too."""
    ends = [pool * number // count for number in range(count)] + [len(order)]
    return [tuple(order[first:end]) for first, end in pairwise(ends)]
