"""Build a manifest from pictures, or find that it is there already."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa

from g2d2.version import __version__
from operators import InputError
from pipelines.manifest.measuring import Measurer
from pipelines.manifest.picture import Picture
from pipelines.manifest.prompts import prompt_rule
from pipelines.manifest.reading import Manifest
from pipelines.manifest.schema import SCHEMA, manifest_digest, to_batch
from pipelines.manifest.settings import BuildSettings
from pipelines.manifest.sources import open_source
from pipelines.manifest.summary import Rejected, Summary, read_summary
from pipelines.manifest.writing import ShardWriter, check_place
from pipelines.progress import Progress, progress
from pipelines.storage import open_store

_NAMES = pa.schema([SCHEMA.field(name) for name in ("id", "task", "digest", "label")])


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
    """Pictures that were looked at."""

    was_there: bool
    """Whether the same manifest had been built before; nothing was written then."""

    rejected: list[Rejected]


def build_manifest(settings: BuildSettings, out: str, *, overwrite: bool = False) -> Built:
    """Measure every source under every task and write the manifest to `out`."""
    store = open_store(out)
    check_place(store, open_store(settings.source))
    existing = None if overwrite else read_summary(store)
    source = open_source(settings)
    measurer = Measurer(settings, prompt_rule(settings, source.columns))
    # over an existing manifest only the digest is computed: the same rows need no writing, others are refused
    writer = None if existing else ShardWriter(store, settings.rows_per_shard)
    names: list[pa.RecordBatch] = []
    count = min(source.count, settings.limit or source.count)
    with progress(count, "pictures") as bar:
        for rows in measurer.rows(_counted(_chosen(source.pictures, settings), bar)):
            batch = to_batch(rows)
            names.append(_copied(batch.select(["id", "task", "digest", "label"])))
            if writer:
                writer.add(batch)
    if not names:
        reason = f"first: {measurer.rejected[0].reason}" if measurer.rejected else "no source was chosen."
        raise NothingBuiltError(f"source: no picture of {count} could be used; {reason}", measurer.rejected)
    table = pa.Table.from_batches(names, schema=_NAMES)
    summary = _summary(settings, table, measurer)
    if existing:
        _check_same(Manifest(store, existing), summary, table)
    if writer:
        summary = writer.finish(summary)
    return Built(store.url(), existing or summary, count, existing is not None, measurer.rejected)


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


def _copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Without the parent's buffers, which hold the images."""
    return pa.RecordBatch.from_pydict(batch.to_pydict(), schema=_NAMES)


def _summary(settings: BuildSettings, names: pa.Table, measurer: Measurer) -> Summary:
    asked = settings.model_dump(mode="json", exclude_defaults=True)
    used = set(names["task"].unique().to_pylist())
    return Summary(
        rows=names.num_rows,
        tasks=[task for task in measurer.tasks if task in used],
        digest=manifest_digest(names["id"], names["digest"]),
        shards=[],
        rejected=measurer.rejected,
        built={"g2d2": __version__, **asked},
    )
