"""The last nights of every cell and metric as series, with the nights marked at which a level changed."""

from dataclasses import asdict, dataclass
from typing import Any

from eval.trend import ChangePoint, change_points
from pipelines.nightly.records import Level, NightRecord

ALPHA = 0.05
"""Chance of any mark in a whole trend in which nothing changed."""


@dataclass(frozen=True)
class Trend:
    """One metric of one cell over nights; None where a night has no value."""

    cell: str
    label: str
    metric: str
    nights: list[str]
    levels: list[Level | None]
    changes: list[ChangePoint]

    def marks(self) -> list[str]:
        """`2026-11-12: 23.41 -> 22.9`."""
        return [f"{self.nights[c.index]}: {c.before:.4g} -> {c.after:.4g}" for c in self.changes]

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "cell": self.cell,
            "label": self.label,
            "metric": self.metric,
            "nights": self.nights,
            "means": [None if level is None else level.mean for level in self.levels],
            "low": [None if level is None else level.low for level in self.levels],
            "high": [None if level is None else level.high for level in self.levels],
            "changes": [asdict(change) | {"night": self.nights[change.index]} for change in self.changes],
        }


def trends(history: list[NightRecord], tonight: NightRecord, count: int) -> list[Trend]:
    """The last `count` nights up to tonight that saw its measurements and ran whole, tonight included.

    A night judged again later is held against what came before it, not after.
    """
    same = [record for record in history if _comparable(record, tonight)]
    nights = [*same[-(count - 1) :], tonight]
    series = [(cell.cell, cell.label, metric) for cell in tonight.cells for metric in cell.levels]
    found = []
    for cell, label, metric in sorted(series, key=lambda one: list(dict.fromkeys(s[2] for s in series)).index(one[2])):
        levels = [record.level(cell, metric) for record in nights]
        means = [float("nan") if level is None else level.mean for level in levels]
        changes = change_points(means, alpha=ALPHA / len(series), resamples=_resamples(len(series)))
        found.append(Trend(cell, label, metric, [record.night for record in nights], levels, changes))
    return found


def _comparable(record: NightRecord, tonight: NightRecord) -> bool:
    return (
        record.night != tonight.night
        and record.started <= tonight.started
        and record.complete
        and record.facts.get("manifest digest") == tonight.facts.get("manifest digest")
    )


def _resamples(series: int) -> int:
    """Enough for a p-value below every series' share of ALPHA."""
    return min(99_999, max(9_999, int(2 * series / ALPHA)))
