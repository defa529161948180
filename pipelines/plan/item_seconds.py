"""What work items take on one device, cell by cell, and what the work that is left comes to."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from pipelines.plan.cells import Cell
from pipelines.plan.race_course import Heat

Range = tuple[float, float, float]
"""At least, about and at most."""


@dataclass(frozen=True)
class ItemSeconds:
    """Seconds of a work item, by its cell's id."""

    by_cell: Mapping[str, Range]
    """Without cells whose method the figures say nothing of."""

    source: str
    """Where the figures come from."""

    def total(self, items: Mapping[str, int]) -> Range:
        """Device seconds of so many items of each cell."""
        known = [(self.by_cell[cell], count) for cell, count in items.items() if cell in self.by_cell]
        low, about, high = (sum(seconds[end] * count for seconds, count in known) for end in range(3))
        return low, about, high

    def race(self, heat: Heat, seeds: int) -> tuple[float, float]:
        """The least and the most of a race: the first round is everybody's, whoever runs the others."""
        fewest, most = heat.cost(seeds)
        known = [self.by_cell.get(cell.id, (0.0, 0.0, 0.0)) for cell in heat.cells]
        first = heat.rules.ends[0] * seeds
        later = (fewest - first * len(known), most - first * len(known))
        whole = sum(high for _, _, high in known) * len(heat.digests) * seeds
        low = first * sum(low for low, _, _ in known) + later[0] * min(low for low, _, _ in known)
        high = first * sum(high for _, _, high in known) + later[1] * max(high for _, _, high in known)
        return low, min(high, whole)

    def uncovered(self, cells: Sequence[Cell], items: Mapping[str, int]) -> dict[str, int]:
        """Items that the figures say nothing of, by method."""
        counts: Counter[str] = Counter()
        for cell in cells:
            if cell.id not in self.by_cell:
                counts[cell.method] += items.get(cell.id, 0)
        return dict(counts)


def bill(seconds: Sequence[float], devices: int, shards: int, price: float | None) -> dict[str, Any]:
    """Hours until so many devices are done with so many shards, and money where a device's hour has a price.

    Of each amount of device seconds. A device solves whole shards, so that the busiest decides.
    """
    hours = [one / 3600 for one in seconds]
    share = ceil(shards / devices) / shards if shards else 0.0
    facts = {"device_hours": hours, "hours": [amount * share for amount in hours]}
    return facts if price is None else facts | {"money": [amount * price for amount in hours]}
