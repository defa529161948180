"""What a cell looks like: the same few measurements for every cell of a task, with their scores."""

import io
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import pyarrow as pa
from PIL import Image, ImageDraw, ImageFont

from eval.record import CellResult
from eval.record.numbers import shown
from operators import InputError
from operators.pictures import encode_png, strip
from pipelines.score.stored_sweep import StoredSweep
from pipelines.stored_signals import Measured, Planned, StoredSignals

PANEL, TABLE = "panel.png", "measurements.json"
PICTURES = "output"
"""Name of the table's column of pictures; under this one MLflow's evaluation page shows it first."""
_HEIGHT, _GAP, _LINE = 128, 8, 18
_LARGE = 16
"""Letters in a picture that MLflow shows smaller than it is."""
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Row:
    measurement: str
    columns: dict[str, int]
    """Names of what is shown, and where each begins."""
    picture: Image.Image
    scores: dict[str, float]

    @property
    def words(self) -> str:
        return "   ".join([self.measurement, *self.score_words])

    @property
    def score_words(self) -> list[str]:
        return [f"{name} {shown(value)}" for name, value in self.scores.items()]


class Panels:
    """Truth, measurement and reconstruction of the first measurements of each task, in the manifest's order."""

    def __init__(self, sweep: StoredSweep):
        self.sweep = sweep
        self._signals = StoredSignals(sweep, 2 * sweep.spec.tracking.panels + 2)

    def measurements(self, cell: CellResult) -> list[str]:
        """Ids of the measurements that are shown."""
        return [row["measurement"] for row in self._solved(cell)]

    def draw(self, cell: CellResult) -> dict[str, bytes]:
        """`panel.png`, and a table of the same rows for MLflow's evaluation; nothing where none of them was solved."""
        rows = [row for item in self._solved(cell) if (row := self._row(cell, item)) is not None]
        return {PANEL: encode_png(_sheet(rows)), **_table(rows, list(self._metrics))} if rows else {}

    def _row(self, cell: CellResult, item: Planned) -> _Row | None:
        measured = self._measured[item["measurement"]]
        found = self._signals.reconstruction(item, None if measured.y is None else measured.y.values)
        if found is None:
            return None
        parts = {"truth": measured.truth, "measurement": measured.y, "reconstruction": found}
        pictures = {name: _opened(one.png) for name, one in parts.items() if one is not None}
        scores = {name: score for name in self._metrics if (score := self._score(cell, name, item)) is not None}
        tall = max(_HEIGHT, *(one.height for one in pictures.values()))
        drawn = [strip([one], tall) for one in pictures.values()]
        starts = accumulate((one.width + _GAP for one in drawn), initial=0)
        columns = dict(zip(pictures, starts, strict=False))
        return _Row(item["measurement"], columns, strip(drawn, _HEIGHT, _GAP), scores)

    def _score(self, cell: CellResult, metric: str, item: Planned) -> float | None:
        column = self.sweep.record.values(cell, metric)
        here = np.flatnonzero((column.measurements == item["measurement"]) & (column.seeds == item["seed"]))
        return float(column.values[here[0]]) if len(here) and np.isfinite(column.values[here[0]]) else None

    def _solved(self, cell: CellResult) -> list[Planned]:
        """The planned ones that the cell has an image of: not failed, and not left out when it left its race."""
        column = self.sweep.record.values(cell, self.sweep.scores.metrics[0])
        there = zip(column.measurements.tolist(), column.seeds.tolist(), column.failed.tolist(), strict=True)
        solved = {(measurement, seed) for measurement, seed, failed in there if not failed}
        return [item for item in self._planned.get(cell.id, ()) if (item["measurement"], item["seed"]) in solved]

    @cached_property
    def _metrics(self) -> list[str]:
        return [metric.name for metric in self.sweep.record.metrics]

    @cached_property
    def _planned(self) -> dict[str, list[Planned]]:
        """Work items that are shown, by cell."""
        shown: dict[str, list[Planned]] = {}
        for row in self._candidates.to_pylist():
            if row["measurement"] in self._measured:
                shown.setdefault(row["cell"], []).append(row)
        return shown

    @cached_property
    def _measured(self) -> dict[str, Measured]:
        """By the measurement's id; none where the manifest is gone."""
        try:
            found = self._signals.measured(self._candidates.to_pylist())
        except InputError as error:
            log.warning("no panels are logged: %s", error)
            return {}
        for one in found.values():
            if isinstance(one, InputError):
                log.warning("a panel is not logged: %s", one)
        return {name: one for name, one in found.items() if isinstance(one, Measured)}

    @cached_property
    def _candidates(self) -> pa.Table:
        """The plan's rows of the measurements to show, with the first seed."""
        rows, record, seeds = self.sweep.plan.rows, self.sweep.record, self.sweep.spec.seeds[:1]
        place = [("manifest_shard", "ascending"), ("manifest_row", "ascending")]
        measured = rows.first_rows("measurement", seed=seeds, cell=(cell.id for cell in record.cells)).sort_by(place)
        by_task: dict[str, list[str]] = {task: [] for task in record.tasks}
        for cell, name in zip(measured["cell"].to_pylist(), measured["measurement"].to_pylist(), strict=True):
            by_task[record.cell(cell).task].append(name)
        shown = [name for names in by_task.values() for name in names[: self.sweep.spec.tracking.panels]]
        return rows.where(seed=seeds, measurement=shown).sort_by(place)


def logged_table() -> str:
    """The tag by which MLflow's pages find the table."""
    return json.dumps([{"path": TABLE, "type": "table"}])


def _table(rows: Sequence[_Row], metrics: Sequence[str]) -> dict[str, bytes]:
    """The form of `log_table`, which would add the rows again when repeated; these files replace what was there."""
    files, data = {}, []
    for index, row in enumerate(rows):
        path = f"table_images/measurements/{index}.png"
        files[path] = encode_png(_scored(row))
        image = {"type": "image", "filepath": path, "compressed_filepath": path}
        data.append([row.measurement, image, *(row.scores.get(name) for name in metrics)])
    table = {"columns": ["measurement", PICTURES, *metrics], "data": data}
    return {TABLE: json.dumps(table).encode(), **files}


def _opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content)).convert("RGB")


def _scored(row: _Row) -> Image.Image:
    """The pictures with what they are and their scores above them, in the upper part of a square.

    MLflow's evaluation page shows nothing beside a picture, centres it in a square and cuts off the lower half.
    """
    font, lines = ImageFont.load_default(_LARGE), [""]
    for words in row.score_words:
        longer = f"{lines[-1]}   {words}".strip()
        lines = [*lines[:-1], longer] if font.getlength(longer) <= row.picture.width else [*lines, words]
    lines, step = [line for line in lines if line], _LARGE + 4
    top = step * (1 + len(lines))
    image = Image.new("RGB", (row.picture.width, max(row.picture.width, top + row.picture.height)), "white")
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        draw.text((0, step * number), line, "black", font)
    for name, left in row.columns.items():
        draw.text((left, step * len(lines)), name, "black", font)
    image.paste(row.picture, (0, top))
    return image


def _sheet(rows: Sequence[_Row]) -> Image.Image:
    """The rows below each other; above each its id and scores, above all what the columns are."""
    font, columns = ImageFont.load_default(12), max((row.columns for row in rows), key=len)
    width = max(max(row.picture.width, int(font.getlength(row.words)) + 1) for row in rows)
    height = _LINE + sum(_LINE + row.picture.height + _GAP for row in rows) - _GAP
    sheet = Image.new("RGB", (width, height), "white")
    draw, top = ImageDraw.Draw(sheet), _LINE
    for name, left in columns.items():
        draw.text((left, 2), name, "black", font)
    for row in rows:
        draw.text((0, top + 2), row.words, "black", font)
        sheet.paste(row.picture, (0, top + _LINE))
        top += _LINE + row.picture.height + _GAP
    return sheet
