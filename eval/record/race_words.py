"""A race in words, as the record of its sweep carries them: what became of each cell, what winners are worth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from eval.record.numbers import shown, spread
from eval.statistics import Interval


@dataclass(frozen=True)
class Confirmation:
    """A winner on measurements that took no part in the race."""

    race: str
    cell: str
    """Its id."""

    measurements: int
    means: Mapping[str, Interval]
    """By metric; those without a finite value are missing."""

    def sentence(self, label: str, metric: str, unit: str) -> str:
        """`sr4-32: star won: psnr 23.41 dB [23.02, 23.80], confirmed on 32 measurements that took no part`."""
        won = f"{self.race}: {label} won"
        mean = self.means.get(metric)
        if mean is None:
            return f"{won}; no measurement was left to confirm it"
        value = " ".join(filter(None, [metric, shown(mean.mean), unit, spread(mean)]))
        return f"{won}: {value}, confirmed on {self.measurements} measurements that took no part"


@dataclass(frozen=True)
class RaceWords:
    """What a race adds to a sweep's record."""

    marks: Mapping[str, str] = field(default_factory=dict)
    """By cell: `won`, `in`, `left after 24`."""

    confirmations: Sequence[Confirmation] = ()
    metric: str = ""
    """The one that decides, by its column."""
