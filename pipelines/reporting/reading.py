"""A sweep's folder, local or `s3://`, as the content of a report: committed Parquet alone, also while it runs."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import yaml

from eval.report.content import Facts, Failure, Report, TaskFacts
from eval.report.results import Results
from eval.scores import ScoreTable
from operators import TASKS, InputError
from operators.validation import validate
from pipelines.committed import current_scores
from pipelines.layout import SweepFolder
from pipelines.lost_rows import lost_rows
from pipelines.manifest import Manifest, build_row_operator, read_row
from pipelines.plan import Plan, read_plan
from pipelines.reporting.pictures import PictureReader
from pipelines.reporting.traces import read_traces
from pipelines.scorings import known_scorings
from pipelines.spec import SweepSpec
from pipelines.tracking.record import Record

_EXAMPLES = 3
_FAILURES = 20


def read_report(folder: SweepFolder, cells: Sequence[str] = (), metrics: Sequence[str] | None = None) -> Report:
    """What is committed in a sweep's folder; `cells` are ids whose pictures are shown besides the best.

    `metrics` are the only ones to show, and the only distances; all that are scored where it is None.
    """
    summary = folder.read_summary()
    spec: SweepSpec = validate(SweepSpec, summary["specification"], where=f"sweep {folder.store.url('sweep.json')}")
    plan = read_plan(folder)
    table = current_scores(folder, plan, known_scorings(folder, summary))
    record = Record(
        folder=folder, spec=spec, summary=summary, cells=plan.cells,
        scores=ScoreTable(table, where=f"sweep {folder.url}"), scores_url=folder.url, scoring=summary["scoring"],
    )  # fmt: skip
    record = record if metrics is None else record.only(metrics)
    scores = record.scores
    results = Results(scores, axes=spec.grid.names())
    _refuse_unknown(cells, results)
    lost = lost_rows(folder, plan, summary["scoring"]) if len(scores.table) < plan.items else []
    notes = [f"{one.sentence}." for one in lost]
    manifest = _manifest(spec, plan, notes)
    reader = PictureReader(folder, plan, manifest)
    pictures = reader.read(results, cells)
    traces = read_traces(reader, results, pictures.images) if spec.keep.traces else []
    facts = Facts(
        name=spec.name,
        where=folder.store.url(),
        prior=spec.prior,
        expected=plan.items,
        scored=len(scores.table),
        failed=len(scores.table) - scores.table["error"].null_count,
        specification=yaml.safe_dump(spec.model_dump(mode="json", exclude={"tracking": {"uri"}}), sort_keys=False),
        details=_details(summary, plan, record.devices()),
        tasks={} if manifest is None else _tasks(manifest, plan, folder, notes),
        failures=_failures(results),
        notes=[*notes, *reader.notes, *(f"{note}." for note in record.notes)],
    )
    return Report(facts, results, pictures, traces, record.distances, record.measurements)


def _refuse_unknown(cells: Sequence[str], results: Results) -> None:
    known = {cell.id for cell in results.cells}
    for cell in cells:
        if cell not in known:
            raise InputError(f"--cells: {cell!r} is not a scored cell; the page's table of all cells lists them.")


def _manifest(spec: SweepSpec, plan: Plan, notes: list[str]) -> Manifest | None:
    """The manifest the sweep was made from; without it there are neither truths nor measurements to show."""
    try:
        manifest = Manifest.open(spec.manifest)
    except InputError as error:
        notes.append(f"truths and measurements are not shown: {error}")
        return None
    if manifest.digest != plan.manifest_digest:
        notes.append(f"truths and measurements are not shown: manifest {spec.manifest} was built anew since the sweep.")
        return None
    return manifest


def _tasks(manifest: Manifest, plan: Plan, folder: SweepFolder, notes: list[str]) -> dict[str, TaskFacts]:
    """Operator and noise of each task, from its first planned measurement; without those where that is damaged."""
    names = ("manifest_shard", "manifest_row", "measurement_digest")
    items = folder.store.read_table(folder.plan_name(plan.id), columns=[*names, "cell_index"])
    first = items.group_by("cell_index", use_threads=False).aggregate([(name, "first") for name in names])
    found = {
        plan.cells[row["cell_index"]].task: tuple(row[f"{name}_first"] for name in names) for row in first.to_pylist()
    }
    places, digests = [place[:2] for place in found.values()], [digest for *_, digest in found.values()]
    rows = manifest.fetch_measured(places, digests)
    facts: dict[str, TaskFacts] = {}
    for index, task in enumerate(found):
        try:
            facts[task] = _task(read_row(rows, index))
        except InputError as error:
            notes.append(f"the operator of {task} is not shown: {error}")
    return facts


def _task(row: dict[str, Any]) -> TaskFacts:
    operator = build_row_operator(row)
    drawn = {"seed"} if (task := TASKS.get(row["task"])) and task.own_seed else set()  # each row has another
    return TaskFacts(
        operator=row["operator"],
        params=operator.settings.model_dump(exclude=drawn),
        sigma=row["sigma"],
        image_shape=tuple(row["image_shape"]),
        entries=int(operator.measurement_counts[0]),
    )


def _details(summary: dict[str, Any], plan: Plan, devices: list[str]) -> dict[str, str]:
    named = {
        "started": summary.get("started"),
        "plan": plan.id,
        "scoring": summary["scoring"],
        "manifest digest": plan.manifest_digest,
        "prior digest": plan.prior_digest,
        "version": summary.get("version"),
        "solver version": summary.get("solver_version"),
        **summary.get("environment", {}),
        "devices": ", ".join(devices),
    }
    return {name: str(value) for name, value in named.items() if value not in (None, "")}


def _failures(results: Results) -> list[Failure]:
    """The most frequent sentences first."""
    table = results.scores.table
    failed = table.filter(table["error"].is_valid()).select(["error", "measurement", "cell"])
    labels = {cell.id: f"{cell.task} {cell.label}" for cell in results.cells}
    groups: dict[str, list[str]] = defaultdict(list)
    for row in failed.to_pylist():
        groups[row["error"]].append(f"{row['measurement']} ({labels[row['cell']]})")
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    return [Failure(error, len(rows), rows[:_EXAMPLES]) for error, rows in ordered[:_FAILURES]]
