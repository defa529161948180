"""Check a manifest row by row against everything its readers rely on."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from operators import InputError
from operators.plurals import counted
from pipelines.manifest.reading import Manifest, read_row
from pipelines.manifest.schema import SCHEMA, content_digest, id_problem, manifest_digest, row_id
from pipelines.manifest.stored_rows import build_row_operator, decode_truth, measurement, row_signal

_ROWS_AT_ONCE = 16


def check_manifest(manifest: Manifest) -> Iterator[str]:
    """Every problem as one line that begins with the row's id, or the shard's name."""
    seen: set[str] = set()
    tasks: Counter[str] = Counter()
    without_truth: Counter[str] = Counter()
    names: list[pa.RecordBatch] = []
    rows = 0
    for number, shard in enumerate(manifest.summary.shards):
        before = rows
        try:
            for batch in manifest.shard_batches(number, SCHEMA.names, _ROWS_AT_ONCE):
                table = pa.Table.from_batches([batch])
                rows += table.num_rows
                names.append(pa.RecordBatch.from_pydict(batch.select(["id", "digest"]).to_pydict()))
                for position in range(table.num_rows):
                    row = read_row(table, position)
                    yield from (f"{row['id']}: {problem}" for problem in _row_problems(row, seen))
                    seen.add(row["id"])
                    tasks[row["task"]] += 1
                    without_truth[row["task"]] += row["truth"] is None
        except InputError as error:
            yield f"{shard.name}: {error}"
            continue
        if rows - before != shard.rows:
            yield f"{shard.name}: it has {counted(rows - before, 'row')} and manifest.json says {shard.rows}."
    yield from _summary_problems(manifest, rows, set(tasks), names)
    for task in tasks:
        missing, _ = manifest.truthless(task)
        if missing != without_truth[task]:
            yield f"manifest.json: it says {missing} of {task} without truth and the rows {without_truth[task]}."


def _row_problems(row: Mapping[str, Any], seen: set[str]) -> Iterator[str]:
    empty = [name for name, value in row.items() if value is None and not SCHEMA.field(name).nullable]
    if empty:
        yield f"{', '.join(empty)} is empty."
        return
    if row["id"] in seen:
        yield "another row has the same id."
    if problem := id_problem(row["id"]):
        yield f"as an id, {problem}."
    if row["id"] != row_id(row["task"], row["source"]):
        yield f"its id must be its task and source, {row_id(row['task'], row['source'])}."
    if row["digest"] != content_digest(row):
        yield "its digest does not fit its content, which was changed after it was built."
    if not 0 <= row["sigma"] < float("inf"):
        yield f"its sigma is {row['sigma']} and must be finite and at least 0."
    parts: list[Callable[[Mapping[str, Any]], object]] = [build_row_operator, measurement]
    for part in [*parts, _check_truth] if row["truth"] is not None else parts:
        try:
            part(row)
        except InputError as error:
            yield str(error).removeprefix(f"{row['id']}: ")
            if part is build_row_operator:
                return


def _check_truth(row: Mapping[str, Any]) -> None:
    problem = row_signal(row).problem(decode_truth(row))
    if problem is not None:
        raise InputError(f"{row['id']}: as a truth, {problem}.")


def _summary_problems(manifest: Manifest, rows: int, tasks: set[str], names: list[pa.RecordBatch]) -> Iterator[str]:
    if rows != manifest.rows:
        yield f"manifest.json: it says {counted(manifest.rows, 'row')} and the shards have {rows}."
    if tasks != set(manifest.tasks):
        yield f"manifest.json: its tasks are {', '.join(manifest.tasks)} and the rows' {', '.join(sorted(tasks))}."
    if names:
        table = pa.Table.from_batches(names)
        if (found := manifest_digest(table["id"], table["digest"])) != manifest.digest:
            yield f"manifest.json: its digest is {manifest.digest} and the rows' digests give {found}."
