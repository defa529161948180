"""One cell of a sweep: what it is, what it is called, its means with intervals and what it took."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from eval.metrics import MetricInfo
from eval.record.numbers import mean_words, shown
from eval.scores import CellValues, Parameter
from eval.statistics import Interval, bootstrap_interval
from operators.plurals import counted


@dataclass(frozen=True)
class CellResult:
    """A task solved with one complete set of settings."""

    id: str
    task: str
    arm: str
    """Empty in tables that know no arms."""

    method: str
    """Empty where the table does not name it, as the prior."""

    prior: str
    settings: dict[str, Parameter]
    """Those that tell the cells of a task and arm apart."""

    parameters: dict[str, Parameter]
    """All that the table says of the cell."""

    label: str
    """`star, eta_kl=0.0003, gamma=0.1`, where the task stands beside it."""

    title: str
    """`sr4-32, star, eta_kl=0.0003, gamma=0.1`, where it does not."""

    means: dict[str, Interval]
    """By metric; one without a finite value is missing."""

    not_finite: dict[str, int]
    """Values that are NaN or infinite although the row was solved, by metric; those without any are missing."""

    seconds: float | None
    """Of one image, by `eval.seconds`."""

    comparable_seconds: float | None
    """The same, unless they were measured under other circumstances than those of most cells of the task."""

    count: int
    failed: int
    left: str = ""
    """`left after 24` of a cell that left its race."""

    ranked: dict[str, float] = field(default_factory=dict)
    """By metric, what it is ranked by: see `eval.record.ranking`. A cell with too few values has none."""

    @property
    def solved(self) -> int:
        return self.count - self.failed

    @property
    def marked(self) -> str:
        """The label, and that it left a race: for wherever its numbers stand beside others."""
        return f"{self.label} ({self.left})" if self.left else self.label


@dataclass(frozen=True)
class Best:
    """The cell with the best mean of a task by a metric."""

    task: str
    metric: MetricInfo
    cell: CellResult
    mean: Interval
    images: int
    """Measurements of the task; the mean may be over fewer."""

    rivals: int
    """Cells of the task that could have won."""

    tied: int
    """Those of them whose paired 95 % interval against the best holds 0."""

    unranked: int
    """Cells that could not have won: those that a race keeps from being ranked, and those with too few values."""

    measured: Interval | None = None
    """What the measurements themselves are worth, as far as that was scored."""

    left: int = 0
    """Of the unranked, how many left their race."""

    raced_apart: int = 0
    """Of the unranked, how many ran in races of arms apart to their ends and did not lead."""

    tied_ids: tuple[str, ...] = ()
    """The cells that tie."""

    confirmed: Interval | None = None
    """Of the winner of a race, the mean over measurements that did not choose it."""

    real: Interval | None = None
    """What the truths are worth, by a metric that looks at nothing else."""

    @property
    def of_images(self) -> str:
        """`11 of 12`, or `12` where none is missing."""
        return str(self.images) if self.mean.clusters == self.images else f"{self.mean.clusters} of {self.images}"

    @property
    def remarks(self) -> list[str]:
        """What a reader should know beside the mean: missing images, ties, cells left out, the measurement itself."""
        remarks = [f"{self.of_images} images"] if self.mean.clusters < self.images else []
        if self.confirmed is not None:
            remarks.append(
                f"{mean_words(self.confirmed)} on {self.confirmed.clusters} that took no part in choosing it"
            )
        if self.rivals:
            remarks.append("no other cell ties" if not self.tied else f"{self.tied} of {self.rivals} other cells tie")
        remarks += self._out_of_rank
        if self.measured is not None:
            worse = "not better than " if self.adds_nothing else ""
            remarks.append(f"{worse}the measurement itself: {shown(self.measured.mean)}")
        if self.real is not None:
            remarks.append(f"the real ones: {shown(self.real.mean)}")
        return remarks

    @property
    def few(self) -> int:
        """Of the unranked, how many have too few values."""
        return self.unranked - self.left - self.raced_apart

    @property
    def _out_of_rank(self) -> list[str]:
        return [
            *([f"{counted(self.left, 'cell')} left the race before"] if self.left else []),
            *([f"{counted(self.raced_apart, 'cell')} did not win a race apart"] if self.raced_apart else []),
            *([f"{counted(self.few, 'cell')} with too few values"] if self.few else []),
        ]

    @property
    def adds_nothing(self) -> bool:
        """Not better than the measurement itself, over the same images."""
        return self.measured is not None and adds_nothing(self.cell, self.metric, self.measured)

    def leads(self, cell: str) -> bool:
        """Whether it is the best or ties with it."""
        return cell == self.cell.id or cell in self.tied_ids


def adds_nothing(cell: CellResult, metric: MetricInfo, measured: Interval) -> bool:
    """Whether a cell is not better than the measurement itself, over the same images."""
    gain = cell.ranked.get(metric.name, cell.means[metric.name].mean) - measured.mean
    return gain <= 0 if metric.direction == "higher" else gain >= 0


def best_of(cells: Sequence[CellResult], metric: MetricInfo) -> CellResult | None:
    """The best mean over the same rows; where no cell is ranked, the best of the fullest; None without any mean."""
    name, choose = metric.name, max if metric.direction == "higher" else min
    ranked = [cell for cell in cells if name in cell.ranked]
    if ranked:
        return choose(ranked, key=lambda cell: cell.ranked[name])
    able = [cell for cell in cells if name in cell.means]
    most = max((cell.means[name].count for cell in able), default=0)
    fullest = [cell for cell in able if cell.means[name].count == most]
    return choose(fullest, key=lambda cell: cell.means[name].mean) if fullest else None


def ties(a: CellValues, b: CellValues) -> bool:
    """Whether the 95 % interval of the difference of two columns of the same rows holds 0, or there is none."""
    difference = a.values - b.values
    if not np.isfinite(difference).any():
        return True
    interval = bootstrap_interval(difference, a.measurements)
    return interval.low is None or interval.high is None or interval.low <= 0 <= interval.high
