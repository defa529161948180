"""What is remembered of a night and of a baseline: small, and kept for ever."""

from typing import Any

from pydantic import BaseModel, ConfigDict

VERSION = 1
QUALITY_ASIDE = ("speed", "memory")
"""Watched beside the metrics: ratios to the night's own calibration."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Level(_Record):
    """A number with the interval around it."""

    mean: float
    low: float | None = None
    high: float | None = None


class CellRecord(_Record):
    """One grid cell in one night."""

    cell: str
    label: str
    levels: dict[str, Level]
    """By metric, `speed` and `memory` among them."""
    seconds: float | None = None
    """Median per image, as the clock showed it."""
    peak_bytes: float | None = None
    """Median of peak memory."""


class Reading(_Record):
    """The calibration workload, run once on one device."""

    seconds: float
    peak_bytes: int
    device: str
    turn: int = 0
    """Which of the night's calibrations it belongs to; each runs on all devices at once."""


class Conditions(_Record):
    """Everything in a specification, and behind its names, that decides a night's numbers."""

    version: int = VERSION
    facts: dict[str, str]
    """Digests, versions and choices that hold for all cells, by the names people know."""
    cells: list[dict[str, Any]]
    """Task and complete settings of every cell."""


class NightRecord(_Record):
    """A night as history keeps it."""

    version: int = VERSION
    name: str
    night: str
    started: str
    finished: str
    expected: int
    committed: int
    failed: int
    complete: bool
    facts: dict[str, str]
    """Digests and versions: what can have changed from night to night."""
    calibration: list[Reading]
    cells: list[CellRecord]
    outcome: str
    baseline: int | None
    """Number of the baseline it was held against."""
    verdicts: dict[str, int] = {}
    exit_code: int
    run: dict[str, str] | None = None
    """The MLflow run, where there is one: `id` and `experiment`."""

    def level(self, cell: str, metric: str) -> Level | None:
        """A cell's number, if the night has it."""
        return next((record.levels.get(metric) for record in self.cells if record.cell == cell), None)


class BaselineRecord(_Record):
    """A night that was accepted."""

    version: int = VERSION
    number: int
    name: str
    accepted: str
    by: str
    reason: str
    scores: str
    """Its scores' name in the store; a copy that no retention touches."""
    scores_digest: str
    night: NightRecord

    def sentence(self) -> str:
        return f"baseline {self.number}: night {self.night.night}, accepted {self.accepted} by {self.by}: {self.reason}"


def plain(record: BaseModel) -> dict[str, Any]:
    """As JSON values."""
    return record.model_dump(mode="json")
