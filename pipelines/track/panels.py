"""What a cell looks like: the same few measurements for every cell of a task, one row of pictures each."""

import io
import logging
from functools import cached_property, lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from PIL import Image

from operators import InputError, find_signal
from operators.pictures import encode_png, strip
from pipelines.manifest import Manifest, decode_truth, measurement, row_signal
from pipelines.score.stored_sweep import StoredSweep

_HEIGHT, _GAP = 128, 8
_PLANNED = ["item", "shard", "measurement", "measurement_digest", "manifest_shard", "manifest_row", "cell"]
log = logging.getLogger(__name__)

Planned = dict[str, Any]
"""A row of the plan."""


class Panels:
    """Truth, measurement and reconstruction of the first measurements of each task, in the manifest's order."""

    def __init__(self, sweep: StoredSweep):
        self.sweep = sweep
        self._images = lru_cache(maxsize=2 * sweep.spec.tracking.panels + 2)(self._read_images)

    def measurements(self, cell: str) -> list[str]:
        """Ids of the measurements that are shown."""
        return [row["measurement"] for row in self._planned.get(cell, ())]

    def draw(self, cell: str) -> dict[str, bytes]:
        """`panel.png`; nothing where no shown measurement was solved."""
        rows = []
        for row in self._planned.get(cell, ()):
            content = self._images(row["shard"]).get(row["item"])
            if content is not None:
                rows.append(strip([*self._measured[row["measurement"]], _opened(content)], _HEIGHT, _GAP))
        return {"panel.png": encode_png(_stacked(rows))} if rows else {}

    @cached_property
    def _planned(self) -> dict[str, list[Planned]]:
        """Work items that are shown, by cell."""
        shown: dict[str, list[Planned]] = {}
        for row in self._candidates.to_pylist():
            if row["measurement"] in self._measured:
                shown.setdefault(row["cell"], []).append(row)
        return shown

    @cached_property
    def _measured(self) -> dict[str, list[Image.Image]]:
        """Truth and measurement by the measurement's id; none where the manifest is gone."""
        candidates = self._candidates.group_by("measurement", use_threads=False)
        names = ("manifest_shard", "manifest_row", "measurement_digest")
        found = candidates.aggregate([(name, "first") for name in names])
        if not len(found):
            return {}
        shards, rows, digests = (found[f"{name}_first"].to_pylist() for name in names)
        try:
            manifest = Manifest.open(self.sweep.spec.manifest)
            measured = manifest.fetch_measured(list(zip(shards, rows, strict=True)), digests).to_pylist()
        except InputError as error:
            log.warning("no panels are logged: %s", error)
            return {}
        shown: dict[str, list[Image.Image]] = {}
        for row in measured:
            try:
                shown[row["id"]] = _pictures(row)
            except InputError as error:
                log.warning("a panel is not logged: %s", error)
        return shown

    @cached_property
    def _candidates(self) -> pa.Table:
        """The plan's rows of the measurements to show, with the first seed."""
        sweep = self.sweep
        plan = sweep.plan.rows.plain.select([*_PLANNED, "seed"])
        plan = plan.filter(pc.equal(plan["seed"], sweep.spec.seeds[0]))
        plan = plan.sort_by([("manifest_shard", "ascending"), ("manifest_row", "ascending")])
        shown: list[str] = []
        for task in sweep.record.tasks:
            cells = pa.array([cell.id for cell in sweep.record.of_task(task)])
            measured = pc.unique(plan.filter(pc.is_in(plan["cell"], value_set=cells))["measurement"])
            shown += measured[: sweep.spec.tracking.panels].to_pylist()
        return plan.filter(pc.is_in(plan["measurement"], value_set=pa.array(shown, pa.string())))

    def _read_images(self, shard: str) -> dict[str, bytes | None]:
        """Reconstructions of a shard by work item; neighbouring cells share shards."""
        folder = self.sweep.folder
        if not folder.store.exists(folder.solved_name(shard)):
            return {}
        rows = folder.read_solved(shard, columns=["item", "signal", "x"]).to_pylist()
        return {row["item"]: None if row["x"] is None else _preview(row) for row in rows}


def _pictures(row: dict[str, Any]) -> list[Image.Image]:
    """What of a measurement can be shown as a picture."""
    signal = row_signal(row)
    truth = None if row["truth"] is None else signal.preview(decode_truth(row))
    shown = [truth, signal.preview_measurement(measurement(row))]
    return [_opened(content) for content in shown if content is not None]


def _preview(row: dict[str, Any]) -> bytes:
    signal = find_signal(row["signal"])
    return signal.preview(signal.decode(row["x"], row["item"]))


def _opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content)).convert("RGB")


def _stacked(rows: list[Image.Image]) -> Image.Image:
    width, height = max(row.width for row in rows), sum(row.height for row in rows) + _GAP * (len(rows) - 1)
    sheet = Image.new("RGB", (width, height), "white")
    top = 0
    for row in rows:
        sheet.paste(row, (0, top))
        top += row.height + _GAP
    return sheet
