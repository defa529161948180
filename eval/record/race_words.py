"""A race in words, as the record of its sweep carries them: what became of each cell, what winners are worth."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from eval.record.numbers import shown, spread
from eval.statistics import Interval

LEFT = "left after"
"""Begins the mark of a cell that left, which goes on with how many measurements it saw."""


@dataclass(frozen=True)
class Confirmation:
    """A winner on measurements that took no part in the race."""

    race: str
    cell: str
    """Its id."""

    measurements: int
    """That it was asked for; a mean is over those of them that have a value."""

    means: Mapping[str, Interval]
    """By metric; those without a finite value are missing."""

    digests: frozenset[str] = frozenset()
    """Of these measurements."""

    def sentence(self, label: str, metric: str, unit: str) -> str:
        """`sr4-32: star won: psnr 23.41 dB [23.02, 23.80], confirmed on 32 measurements that took no part`."""
        won = f"{self.race}: {label} won"
        mean = self.means.get(metric)
        if mean is None:
            none = "has a finite value" if self.measurements else "was left"
            return f"{won}; no measurement {none} to confirm it"
        value = " ".join(filter(None, [metric, shown(mean.mean), unit, spread(mean)]))
        few = mean.clusters < self.measurements
        count = f"{mean.clusters} of {self.measurements}" if few else str(self.measurements)
        return f"{won}: {value}, confirmed on {count} measurements that took no part"


@dataclass(frozen=True)
class RaceWords:
    """What a race adds to a sweep's record."""

    marks: Mapping[str, str] = field(default_factory=dict)
    """By cell: `won`, `in`, `left after 24`."""

    unranked: Collection[str] = frozenset()
    """Cells that are not to be ranked with the others, since they left; of races apart, all but the winners."""

    confirmations: Sequence[Confirmation] = ()
    metric: str = ""
    """The one that decides, by its column."""

    def mark(self, cell: str) -> str:
        """`left after 24` of a cell that left, else nothing."""
        mark = self.marks.get(cell, "")
        return mark if mark.startswith(LEFT) else ""

    @property
    def confirming(self) -> dict[str, frozenset[str]]:
        """By winner, the measurements that took no part in choosing it."""
        return {one.cell: one.digests for one in self.confirmations}

    def confirmed(self, cell: str, metric: str) -> Interval | None:
        """A winner's mean over measurements that did not choose it."""
        return next((one.means.get(metric) for one in self.confirmations if one.cell == cell), None)
