"""A sweep's folder, local or `s3://`, as the content of a report: committed Parquet alone, also while it runs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from eval.record import SweepRecord
from eval.report.content import Facts, Failure, Other, Report, TaskFacts
from eval.report.explored import most_different
from operators import TASKS, InputError
from operators.plurals import counted
from pipelines.manifest import Manifest, build_row_operator, read_row
from pipelines.plan.planning import Plan
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.report.picture_reader import EXPLORER_BYTES, PictureReader
from pipelines.report.sweep_names import unused
from pipelines.report.traces import read_traces
from pipelines.score.lost_rows import lost_rows
from pipelines.score.stored_sweep import StoredSweep

BESIDE_BYTES = 4 * 2**20
"""More for the pictures of other sweeps."""
_EXAMPLES = 3
_NAMED = 5
_FAILURES = 20


def read_report(
    sweep: StoredSweep,
    cells: Sequence[str] = (),
    measurements: Sequence[str] = (),
    against: Sequence[StoredSweep] = (),
) -> Report:
    """What a page shows of a sweep.

    `cells` are ids whose pictures are shown besides the best, `measurements` those whose pictures of all cells are, and
    `against` other sweeps whose cells stand beside them where they saw the same measurements.
    """
    folder, spec, plan, record = sweep.folder, sweep.spec, sweep.plan, sweep.record
    _refuse_unknown(cells, record)
    lost = lost_rows(folder, plan, sweep.scoring) if sweep.missing > 0 else []
    notes = [f"{one.sentence}." for one in lost]
    manifest = _manifest(spec, plan, notes)
    reader = PictureReader(folder, plan, manifest)
    pictures = reader.read(record, cells)
    traces = read_traces(reader, record, pictures.images) if spec.keep.traces else []
    wanted, others = reader.digests(measurements), _others(sweep, against)
    _refuse_missing(measurements, wanted, spec.name)
    beside = {f"{one.name}:": PictureReader(of.folder, of.plan, None) for one, of in zip(others, against, strict=True)}
    different = most_different(record, others, cells)
    left = _add_explored(pictures.images, reader, beside, wanted, different, [row.measurement for row in pictures.rows])
    if left:
        more = ", ..." if left[_NAMED:] else ""
        notes.append(
            f"pictures of {len(left)} of {counted(len(wanted), 'measurement')} that --measurement asks for did not fit "
            f"into the page: {', '.join(left[:_NAMED])}{more}."
        )
    facts = Facts(
        name=spec.name,
        where=folder.store.url(),
        prior=sweep.prior,
        expected=sweep.expected,
        scored=len(sweep.scores),
        failed=sweep.failed,
        specification=yaml.safe_dump(spec.model_dump(mode="json", exclude={"tracking": {"uri"}}), sort_keys=False),
        details=_details(sweep.summary, plan, sweep.devices()),
        tasks={} if manifest is None else _tasks(manifest, plan, notes),
        failures=_failures(record),
        notes=[*notes, *reader.notes, *(f"{note}." for note in sweep.notes)],
    )
    return Report(facts, record, pictures, traces, others, tuple(measurements), tuple(cells))


def _add_explored(
    images: dict[str, bytes],
    reader: PictureReader,
    beside: Mapping[str, PictureReader],
    wanted: dict[str, str],
    different: Sequence[tuple[str, list[str]]],
    shown: Sequence[str],
) -> list[str]:
    """Adds what was asked for, then where the explorer's two cells differ most, then the gallery over all cells.

    Gives the names of what was asked for and did not fit.
    """
    sides = [
        ("", reader, EXPLORER_BYTES),
        *((name, one, EXPLORER_BYTES + BESIDE_BYTES) for name, one in beside.items()),
    ]
    reader.add_measured(images, wanted)
    left = [name for prefix, one, budget in sides for name in one.add_all_cells(images, wanted, prefix, budget)]
    for name, cells in different:
        digests = reader.digests([name])
        reader.add_measured(images, digests)
        for prefix, one, budget in sides:
            one.add_all_cells(images, digests, prefix, budget, cells)
    digests = reader.digests(shown)
    for prefix, one, budget in sides:
        one.add_all_cells(images, digests, prefix, budget)
    return list(dict.fromkeys(left))


def _digests(sweep: StoredSweep) -> set[str]:
    return {*sweep.plan.rows.first_rows("measurement_digest")["measurement_digest"].to_pylist()}


def _others(sweep: StoredSweep, against: Sequence[StoredSweep]) -> list[Other]:
    """By their names, as `g2d2 site` calls them; refused where nothing of one can be held against the sweep."""
    mine, version = _digests(sweep), sweep.record.scores.roles.scoring
    others: list[Other] = []
    for one in against:
        if mine.isdisjoint(_digests(one)):
            raise InputError(
                f"--against: {one.folder.url} saw none of the measurements of {sweep.folder.url}; "
                "sweeps of one manifest can be compared."
            )
        theirs = one.record.scores.roles.scoring
        if theirs != version:
            older = one if (theirs or 0) < (version or 0) else sweep
            raise InputError(
                f"--against: {one.folder.url} was scored by version {theirs} of the scorer and {sweep.folder.url} by "
                f"version {version}, which cannot be paired; `g2d2 score {older.folder.url} --again` scores it anew."
            )
        name = unused(one.spec.name, [sweep.spec.name, *(other.name for other in others)])
        others.append(Other(name, one.record))
    return others


def _refuse_missing(measurements: Sequence[str], digests: dict[str, str], sweep: str) -> None:
    for name in measurements:
        if name not in digests.values():
            raise InputError(f"--measurement: {name!r} is no measurement of {sweep}; the page's list names them all.")


def _refuse_unknown(cells: Sequence[str], record: SweepRecord) -> None:
    known = {cell.id for cell in record.cells}
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


def _tasks(manifest: Manifest, plan: Plan, notes: list[str]) -> dict[str, TaskFacts]:
    """Operator and noise of each task, from its first planned measurement; without those where that is damaged."""
    first = {plan.cells[row["cell_index"]].task: row for row in plan.rows.first_rows("cell_index").to_pylist()}
    places = [(row["manifest_shard"], row["manifest_row"]) for row in first.values()]
    rows = manifest.fetch_measured(places, [row["measurement_digest"] for row in first.values()])
    facts: dict[str, TaskFacts] = {}
    for index, task in enumerate(first):
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
        x_shape=tuple(row["x_shape"]),
        entries=int(operator.measurement_counts[0]),
    )


def _details(summary: dict[str, Any], plan: Plan, devices: list[str]) -> dict[str, str]:
    named = {
        "started": summary.get("started"),
        "plan": plan.id,
        "scoring": summary["scoring"],
        "manifest digest": plan.manifest_digest,
        **{f"digest of prior {name}": digest for name, digest in plan.priors.items()},
        "version": summary.get("version"),
        **summary.get("environment", {}),
        "devices": ", ".join(devices),
    }
    return {name: str(value) for name, value in named.items() if value not in (None, "")}


def _failures(record: SweepRecord) -> list[Failure]:
    """The most frequent sentences first."""
    groups: dict[str, list[str]] = defaultdict(list)
    for error, measurement, cell in record.scores.failures:
        groups[error].append(f"{measurement} ({record.cell(cell).title})")
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    return [Failure(error, len(rows), rows[:_EXAMPLES]) for error, rows in ordered[:_FAILURES]]
