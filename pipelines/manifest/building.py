"""Build a manifest from pictures or from rows of any signal, or find that it is there already."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa

from g2d2.version import __version__
from operators import InputError
from pipelines.console.progress import Progress, progress
from pipelines.manifest.manifest_record import Rejected, Summary, read_summary
from pipelines.manifest.measuring import Measurer, SourceRow
from pipelines.manifest.picture import Picture
from pipelines.manifest.picture_rows import PictureRows
from pipelines.manifest.prompts import prompt_rule
from pipelines.manifest.reading import Manifest
from pipelines.manifest.schema import SCHEMA, Row, manifest_digest, to_batch
from pipelines.manifest.settings import BuildSettings
from pipelines.manifest.sources import open_source
from pipelines.manifest.writing import ShardWriter, check_place
from pipelines.storage import Store, open_store

_NAMES = pa.schema(
    [*(SCHEMA.field(name) for name in ("id", "task", "signal", "digest", "label")), ("without_truth", pa.bool_())]
)


class NothingBuiltError(InputError):
    """Not one row could be made; says why of each source."""

    def __init__(self, message: str, rejected: list[Rejected]):
        super().__init__(message)
        self.rejected = rejected


@dataclass(frozen=True)
class Built:
    """A manifest that is complete now."""

    url: str
    summary: Summary
    sources: int
    """Pictures, or other rows, that were looked at."""

    was_there: bool
    """Whether the same manifest had been built before; nothing was written then."""

    rejected: list[Rejected]


def build_manifest(settings: BuildSettings, out: str, *, overwrite: bool = False) -> Built:
    """Measure every picture of a source under every task and write the manifest to `out`."""
    store = open_store(out)
    check_place(store, open_store(settings.source))
    existing = None if overwrite else read_summary(store)
    source, rejected = open_source(settings), list[Rejected]()
    rows = PictureRows(settings, prompt_rule(settings, source.columns), rejected)
    count = min(source.count, settings.limit or source.count)
    asked = settings.model_dump(mode="json", exclude_defaults=True)
    manifest = _Manifest(store, existing, list(rows.tasks), rejected, {"g2d2": __version__, **asked})
    with progress(count, "pictures") as bar:
        pictures = rows(_counted(_chosen(source.pictures, settings), bar))
        manifest.add(Measurer(rejected).rows(pictures), settings.rows_per_shard)
    return manifest.finish(count, f"source: no picture of {count} could be used")


def write_manifest(
    url: str,
    rows: Iterable[SourceRow],
    *,
    task: str | None = None,
    overwrite: bool = False,
    rows_per_shard: int = 1000,
    built: Mapping[str, Any] | None = None,
    rejected: list[Rejected] | None = None,
) -> Built:
    """Measure these rows, of any signal, and write the manifest to a folder or s3:// URL.

    `task` is that of rows which name none; `built` tells readers of the manifest how the rows were made. A row that
    cannot be used stops no other; who makes the rows adds to `rejected` what never became one.
    """
    store = open_store(url)
    check_place(store)
    rejected = [] if rejected is None else rejected
    existing = None if overwrite else read_summary(store)
    manifest = _Manifest(store, existing, [], rejected, {"g2d2": __version__, **(built or {})})
    manifest.add(Measurer(rejected, task).rows(rows), rows_per_shard)
    count = manifest.rows + len(rejected)
    return manifest.finish(count, f"rows: none of {count} could be used")


class _Manifest:
    """A manifest on its way: over an existing one only digests are computed, since the same rows need no writing."""

    def __init__(
        self, store: Store, existing: Summary | None, tasks: list[str], rejected: list[Rejected], built: dict[str, Any]
    ):
        self.store, self.existing, self.tasks, self.rejected, self.built = store, existing, tasks, rejected, built
        self._names: list[pa.RecordBatch] = []
        self._writer: ShardWriter | None = None

    @property
    def rows(self) -> int:
        return sum(batch.num_rows for batch in self._names)

    def add(self, batches: Iterable[list[Row]], rows_per_shard: int) -> None:
        if self.existing is None:
            self._writer = ShardWriter(self.store, rows_per_shard)
        for rows in batches:
            batch = to_batch(rows)
            self._names.append(_facts(batch))
            if self._writer:
                self._writer.add(batch)

    def finish(self, sources: int, nothing: str) -> Built:
        """Complete it, or compare it with what is there; `nothing` begins the sentence where it has no rows."""
        if not self._names:
            reason = f"first: {self.rejected[0].reason}" if self.rejected else "no source was chosen."
            raise NothingBuiltError(f"{nothing}; {reason}", self.rejected)
        table = pa.Table.from_batches(self._names, schema=_NAMES)
        summary = self._summary(table)
        if self.existing:
            _check_same(Manifest(self.store, self.existing), summary, table)
        if self._writer:
            summary = self._writer.finish(summary)
        was_there = self.existing is not None
        return Built(self.store.url(), self.existing or summary, sources, was_there, self.rejected)

    def _summary(self, names: pa.Table) -> Summary:
        rows = Counter(names["task"].to_pylist())
        without = Counter(names.filter(names["without_truth"])["task"].to_pylist())
        tasks = [*(task for task in self.tasks if task in rows), *(task for task in rows if task not in self.tasks)]
        return Summary(
            rows=names.num_rows,
            tasks=tasks,
            task_rows={task: rows[task] for task in tasks},
            without_truth={task: without[task] for task in tasks if without[task]},
            signals=names["signal"].unique().to_pylist(),
            digest=manifest_digest(names["id"], names["digest"]),
            shards=[],
            rejected=self.rejected,
            built=self.built,
        )


def _check_same(existing: Manifest, summary: Summary, names: pa.Table) -> None:
    """Raise an InputError where a build would give other rows, or the same with other labels."""
    if existing.digest != summary.digest:
        raise InputError(
            f"out: {existing.url} holds another manifest (digest {existing.digest[:12]}, this one would be "
            f"{summary.digest[:12]}); --overwrite replaces it."
        )
    stored = {row["id"]: row["label"] for batch in existing.index(["id", "label"]) for row in batch.to_pylist()}
    for id, label in zip(names["id"].to_pylist(), names["label"].to_pylist(), strict=True):
        if (before := stored.get(id)) != label:
            raise InputError(
                f"out: {existing.url} holds these measurements with other labels ({id} has {before!r} and would have "
                f"{label!r}); --overwrite replaces them, and results stay as they are."
            )


def _chosen(pictures: Iterable[Picture], settings: BuildSettings) -> Iterator[Picture]:
    taken: Counter[str | None] = Counter()
    for picture in islice(pictures, settings.limit):
        taken[picture.label] += 1
        if settings.per_label is None or taken[picture.label] <= settings.per_label:
            yield picture


def _counted(pictures: Iterator[Picture], bar: Progress) -> Iterator[Picture]:
    for picture in pictures:
        yield picture
        bar.update(1)


def _facts(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Copied: the batch's own buffers hold the truths."""
    plain = batch.select(["id", "task", "signal", "digest", "label"]).to_pydict()
    return pa.RecordBatch.from_pydict(plain | {"without_truth": batch["truth"].is_null()}, schema=_NAMES)
