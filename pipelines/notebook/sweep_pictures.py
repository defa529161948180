"""One measurement over cells: its truth, what was measured and every reconstruction with its scores."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from markupsafe import Markup
from PIL import Image
from torch import Tensor

from eval.record import CellResult, SweepRecord
from eval.record.numbers import shown
from operators import InputError
from operators.figure_html import Figure, figures_html
from pipelines.stored_signals import Measured, Picture, StoredSignals


@dataclass(frozen=True)
class ShownPicture:
    """A picture by its name; a notebook shows it."""

    name: str
    """`truth`, `measurement` or a cell's label."""

    values: Tensor = field(repr=False)
    """What was stored, such as (3, H, W) in [-1, 1] of an image."""

    png: bytes = field(repr=False)
    scores: dict[str, float] = field(default_factory=dict)
    """By metric, in the order of the sweep's."""

    cell: str | None = None
    """Id of the cell; None of truth and measurement."""

    @property
    def image(self) -> Image.Image:
        """The picture as Pillow has it."""
        return Image.open(io.BytesIO(self.png))

    def figure(self) -> Figure:
        return Figure(self.png, [self.name, *(f"{name} {shown(value)}" for name, value in self.scores.items())])

    def _repr_html_(self) -> str:
        return str(figures_html([self.figure()]))

    def _repr_png_(self) -> bytes:
        return self.png


class SweepPictures(Sequence[ShownPicture]):
    """Pictures of one measurement, which a notebook shows side by side."""

    def __init__(self, measurement: str, pictures: Sequence[ShownPicture], notes: Sequence[str] = ()):
        """`notes` say what cannot be shown."""
        self.measurement, self.notes, self._pictures = measurement, list(notes), list(pictures)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        """By place, or by name: `truth`, `measurement`, a cell's label or id."""
        if not isinstance(index, str):
            return self._pictures[index]
        found = next((one for one in self if index in (one.name, one.cell)), None)
        if found is None:
            names, notes = ", ".join(one.name for one in self), "".join(f"; {note}" for note in self.notes)
            raise InputError(f"picture: {index!r} is not among those of {self.measurement}, which are {names}{notes}.")
        return found

    def __len__(self) -> int:
        return len(self._pictures)

    def __repr__(self) -> str:
        return "\n".join([self.measurement, *(", ".join(one.figure().lines) for one in self), *self.notes])

    def _repr_html_(self) -> str:
        notes = Markup("").join(Markup("<p>{}</p>").format(note) for note in self.notes)
        return str(figures_html([one.figure() for one in self]) + notes)


def pictures_of(
    stored: StoredSignals, record: SweepRecord, measurement: str, cells: Sequence[CellResult], seed: int
) -> SweepPictures:
    """Truth and measurement first, as far as the manifest is there; cells that did not solve it are noted."""
    planned = stored.planned(measurement, [cell.id for cell in cells], seed)
    notes: list[str] = []
    pictures = list(_measured(stored, measurement, [*planned.values()][:1], notes))
    y = next((one.values for one in pictures if one.name == "measurement"), None)
    for cell in cells:
        found = stored.reconstruction(planned[cell.id], y) if cell.id in planned else None
        if found is None:
            notes.append(f"{cell.label} has no reconstruction of {measurement} with seed {seed}")
        else:
            scores = _scores(record, cell, measurement, seed)
            pictures.append(ShownPicture(cell.label, found.values, found.png, scores, cell.id))
    return SweepPictures(measurement, pictures, notes)


def _measured(stored: StoredSignals, name: str, rows: Sequence[dict], notes: list[str]) -> Iterator[ShownPicture]:  # type: ignore[type-arg]
    try:
        found = stored.measured(rows).get(name, Measured(None, None))
    except InputError as error:
        found = error
    if isinstance(found, InputError):
        notes.append(f"truth and measurement are not shown: {found}")
        return
    parts: dict[str, Picture | None] = {"truth": found.truth, "measurement": found.y}
    yield from (ShownPicture(what, one.values, one.png) for what, one in parts.items() if one is not None)


def _scores(record: SweepRecord, cell: CellResult, measurement: str, seed: int) -> dict[str, float]:
    scores: dict[str, float] = {}
    for metric in record.metrics:
        column = record.values(cell, metric.name)
        here = np.flatnonzero((column.measurements == measurement) & (column.seeds == seed))
        if len(here) and np.isfinite(column.values[here[0]]):
            scores[metric.name] = float(column.values[here[0]])
    return scores
