"""Truths, measurements and reconstructions for a page, read by work item and kept within a budget of bytes."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

from numpy.typing import NDArray
from torch import Tensor, from_numpy

from eval.record import SweepRecord
from eval.report.content import PictureRow, Pictures
from eval.report.shown_cells import picture_rows
from eval.report.thumbnails import thumbnail
from operators import InputError, Signal, find_signal
from pipelines.manifest import Manifest, decode_truth, measurement, read_row, row_signal
from pipelines.plan.planning import Plan
from pipelines.storage.sweep_folder import SweepFolder

PICTURE_BYTES = 8 * 2**20
"""All encoded pictures of a page together; as text in the page they take a third more."""
EXPLORER_BYTES = 12 * 2**20
"""The same with those of the explorer, which come last."""
EXPLORER_PICTURES = 1000
"""Most pictures that are read for it: encoding them takes time."""
_SHARDS_KEPT = 64
_ROWS_KEPT = 64


class PictureReader:
    """Reads only the shards in which something to show lies."""

    def __init__(self, folder: SweepFolder, plan: Plan, manifest: Manifest | None) -> None:
        self.folder, self.manifest = folder, manifest
        self.notes: list[str] = []
        self._plan = plan.rows
        self._solved = folder.solved_shards()
        self._shard = lru_cache(maxsize=_SHARDS_KEPT)(self._read_shard)
        self._fetched = lru_cache(maxsize=_ROWS_KEPT)(self._fetch)

    def read(self, record: SweepRecord, cells: Sequence[str] = (), budget: int = PICTURE_BYTES) -> Pictures:
        """Rows in the order of their importance, until the budget is spent."""
        wanted = picture_rows(record, also=cells)
        items = self._items(wanted)
        rows: list[PictureRow] = []
        images: dict[str, bytes] = {}
        for row in wanted:
            found = self._row_images(row, items, images)
            if sum(map(len, images.values())) + sum(map(len, found.values())) > budget:
                break
            images |= found
            rows.append(replace(row, prompt=self._measured(self._item(row, items)).get("prompt", "")))
        return Pictures(rows, images, left_out=len(wanted) - len(rows))

    def add_all_cells(
        self,
        images: dict[str, bytes],
        digests: dict[str, str],
        prefix: str = "",
        budget: int = EXPLORER_BYTES,
        cells: Collection[str] | None = None,
    ) -> list[str]:
        """Pictures of every cell for some measurements, names by digest, the first as far as all of their cells fit.

        `cells`, as keys of a page, are the only ones where they are given. Gives the names of what did not fit.
        """
        wanted: dict[str, Iterable[str]] = {"measurement_digest": digests}
        if cells is not None:
            wanted["cell"] = [one.removeprefix(prefix) for one in cells if one.startswith(prefix)]
        part = self._plan.where(**wanted)
        by_digest: dict[str, list[dict[str, Any]]] = {digest: [] for digest in digests}
        for item in part.to_pylist():
            by_digest[item["measurement_digest"]].append(item)
        chosen: list[dict[str, Any]] = []
        for items in by_digest.values():
            chosen += items if len(chosen) + len(items) <= EXPLORER_PICTURES or not chosen else []
        found: dict[str, dict[str, bytes]] = {}
        for item in sorted(chosen, key=lambda item: str(item["shard"])):  # each shard is read once
            name = digests[item["measurement_digest"]]
            key = f"{prefix}{item['cell']}/{name}/{item['seed']}"
            picture = None if key in images else self.picture(item, name)
            if picture is not None:
                found.setdefault(item["measurement_digest"], {})[key] = picture
        spent = sum(map(len, images.values()))
        for digest in digests:
            more = found.get(digest, {})
            spent += sum(map(len, more.values()))
            if spent > budget:
                break
            images |= more
        read = {item["measurement_digest"] for item in chosen}
        unread = {digest for digest, items in by_digest.items() if items and digest not in read}
        unfit = {digest for digest, pictures in found.items() if not pictures.keys() <= images.keys()}
        return [name for digest, name in digests.items() if digest in unread | unfit]

    def add_measured(self, images: dict[str, bytes], digests: dict[str, str], budget: int = EXPLORER_BYTES) -> None:
        """Truth and measurement of each, where they are not there yet and fit."""
        spent = sum(map(len, images.values()))
        part = self._plan.first_rows("measurement_digest", measurement_digest=digests)
        for item in part.to_pylist():
            name = digests[item["measurement_digest"]]
            if f"truth/{name}" in images or f"y/{name}" in images:
                continue
            more = self.measured_images(name, item)
            spent += sum(map(len, more.values()))
            if spent > budget:
                break
            images |= more

    def digests(self, measurements: Iterable[str]) -> dict[str, str]:
        """Names by digest, in the order of the names."""
        names = list(dict.fromkeys(measurements))
        rows = self._plan.first_rows("measurement_digest", measurement=names).to_pylist()
        known = {row["measurement_digest"]: row["measurement"] for row in rows}
        return dict(sorted(known.items(), key=lambda one: names.index(one[1])))

    def picture(self, item: dict[str, Any], name: str) -> bytes | None:
        """The reconstruction of one of the plan's rows, if there is one."""
        solved = self.solved(item["shard"], item["item"])
        if solved.get("x") is None:
            return None
        signal = find_signal(solved["signal"])
        x = signal.decode(solved["x"], name)
        return thumbnail(signal.preview_beside(x, self._y(item, signal)))

    def _y(self, item: dict[str, Any], signal: Signal) -> Tensor | None:
        """What was measured, where a preview shows it; None where it cannot be read."""
        if signal.marks:
            with suppress(InputError):
                stored = self._measured(item)
                return measurement(stored) if stored else None
        return None

    def solved(self, shard: str, item: str) -> dict[str, Any]:
        """A solved row's picture and trace; nothing where it is not committed."""
        return self._shard(shard).get(item, {}) if shard in self._solved else {}

    def snapshot(self, stored: NDArray[Any], signal: str) -> bytes:
        """What a trace kept of a state, as a small picture."""
        return thumbnail(find_signal(signal).preview(from_numpy(stored)))

    def items_of(self, cell: str, measurements: Sequence[str], seed: int) -> list[dict[str, Any]]:
        """The plan's rows of some measurements of a cell."""
        rows: list[dict[str, Any]] = self._plan.where(cell=[cell], seed=[seed], measurement=measurements).to_pylist()
        return sorted(rows, key=lambda row: measurements.index(row["measurement"]))

    def _items(self, rows: Sequence[PictureRow]) -> dict[tuple[str, str, int], dict[str, Any]]:
        """The plan's rows of all that may be shown, by cell, measurement and seed."""
        part = self._plan.where(measurement={row.measurement for row in rows})
        return {(item["cell"], item["measurement"], item["seed"]): item for item in part.to_pylist()}

    def _row_images(
        self, row: PictureRow, items: dict[tuple[str, str, int], dict[str, Any]], known: dict[str, bytes]
    ) -> dict[str, bytes]:
        """What the row needs and is not there yet."""
        found: dict[str, bytes] = {}
        if f"truth/{row.measurement}" not in known and f"y/{row.measurement}" not in known:
            found |= self.measured_images(row.measurement, self._item(row, items))
        for cell in row.values:
            item, key = items.get((cell, row.measurement, row.seed)), f"{cell}/{row.measurement}/{row.seed}"
            if item is not None and key not in known:
                picture = self.picture(item, row.measurement)
                found |= {} if picture is None else {key: picture}
        return found

    def _item(self, row: PictureRow, items: dict[tuple[str, str, int], dict[str, Any]]) -> dict[str, Any]:
        return next(item for cell in row.values if (item := items.get((cell, row.measurement, row.seed))) is not None)

    def measured_images(self, name: str, item: dict[str, Any]) -> dict[str, bytes]:
        """Truth and measurement, by the keys of a page's pictures; what cannot be shown is missing."""
        stored = self._measured(item)
        if not stored:
            return {}
        found: dict[str, bytes] = {}
        try:
            signal = row_signal(stored)
            if stored["truth"] is not None:
                found[f"truth/{name}"] = thumbnail(signal.preview_beside(decode_truth(stored), self._y(item, signal)))
            y = signal.preview_measurement(measurement(stored))
            if y is not None:
                found[f"y/{name}"] = thumbnail(y)
        except InputError as error:
            self.notes.append(f"a measurement is not shown: {error}")
        return found

    def _measured(self, item: dict[str, Any]) -> dict[str, Any]:
        if self.manifest is None:
            return {}
        place = item["manifest_shard"], item["manifest_row"]
        return self._fetched(place, item["measurement_digest"])

    def _fetch(self, place: tuple[int, int], digest: str) -> dict[str, Any]:
        assert self.manifest is not None
        return read_row(self.manifest.fetch_measured([place], [digest]), 0)

    def _read_shard(self, shard: str) -> dict[str, dict[str, Any]]:
        rows = self.folder.read_solved(shard, columns=["item", "signal", "x", "trace"]).to_pylist()
        return {row["item"]: row for row in rows}
