"""One night: solve afresh, measure the machine, hold everything against the baseline, remember it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from eval.gate import GateResult, Judgement, Verdict, compare
from eval.scores import ScoreTable
from operators import InputError
from operators.plurals import counted
from pipelines.nightly.calibrating import calibrate
from pipelines.nightly.choosing import Chosen
from pipelines.nightly.conditions import what_differs
from pipelines.nightly.costs import cell_records, judge_costs
from pipelines.nightly.facts import night_facts, what_changed
from pipelines.nightly.folder import NightlyFolder
from pipelines.nightly.night_trends import Trend, trends
from pipelines.nightly.nightly_spec import NightlySpec
from pipelines.nightly.records import QUALITY_ASIDE, BaselineRecord, NightRecord, Reading
from pipelines.plan.planning import make_plan
from pipelines.plan.readiness import check_work
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.sweep import Counts, SweepResult, run_sweep
from pipelines.track.server import destination

FIRST, NOT_COMPLETE, ROWS_FAILED = "no baseline", "not complete", "rows failed"
"""Outcomes besides those of the gate."""


@dataclass(frozen=True)
class Night:
    """What a night ends with."""

    record: NightRecord
    baseline: BaselineRecord | None
    gate: GateResult | None
    """None without a baseline."""
    trends: list[Trend]
    scores_url: str
    acceptance: BaselineRecord | None = None
    """Where the night is accepted and was judged again: it stays as it is, and nothing was run."""
    counts: Counts | None = None
    """Of the sweep; None where nothing was run."""
    sweep: StoredSweep | None = None
    solved: int = 0
    """Work items this call solved; 0 when the night was complete already."""

    def headline(self) -> str:
        """The outcome in one line; what is not whole comes first, whatever was compared."""
        compared = f"{FIRST}: nothing was compared" if self.gate is None else self.gate.summary()
        lacking = self.lacking()
        return compared if lacking is None else f"{lacking}; {compared}"

    def lacking(self) -> str | None:
        """Why the night is not whole; None where it is, as every accepted one."""
        counts = self.counts
        if counts is None:
            return None
        failed = f"{counted(counts.failed, 'row')} failed" if counts.failed else None
        if counts.complete:
            return failed
        twice = f"{counts.duplicates} twice" if counts.duplicates else None
        told = [f"{counts.committed} of {counted(counts.expected, 'work item')} committed", twice, failed]
        return f"{NOT_COMPLETE}: " + ", ".join(part for part in told if part)


def night_today() -> str:
    """A night's name where none is given: the date, UTC."""
    return time.strftime("%Y-%m-%d", time.gmtime())


def run_night(spec: NightlySpec, chosen: Chosen, *, retry_failed: bool = False) -> Night:
    """Run or resume a night, and judge it; writing what was found is `pipelines.nightly.keeping`'s."""
    if chosen.acceptance is not None:
        return judge_again(spec, chosen.acceptance)
    night, sweep = chosen.night, spec.sweep_spec(chosen.night)
    if sweep.tracking.enabled:
        destination(sweep.tracking, sweep.output)  # a bad address is refused before hours of work
    folder = NightlyFolder(spec.output, spec.name)
    history, baseline = folder.nights(), _present_baseline(folder)
    accepted = None if baseline is None else folder.baseline_scores(baseline)
    earlier = next((record for record in history if record.night == night), None)
    started, left = earlier.started if earlier else _now(), _left(sweep, retry_failed)
    _begin(folder, chosen)
    result, readings = _measured(folder, night, sweep, left, lambda: run_sweep(sweep, retry_failed=retry_failed))
    stored = result.stored(sweep)
    record = _record(spec, night, started, result.counts, stored, readings)
    if earlier is not None and not left:  # judged again by other code perhaps, but not solved by it
        record = record.model_copy(update={"facts": earlier.facts})
    record = record.model_copy(update={"run": earlier and earlier.run})
    gate = None
    if baseline is not None and accepted is not None:
        gate = _judged(spec, record, result.scores, baseline, accepted)
    record = _with_outcome(record, baseline, gate)
    past = trends(history, record, spec.nights)
    return Night(record, baseline, gate, past, result.scores_url, None, result.counts, stored, left)


def judge_again(spec: NightlySpec, acceptance: BaselineRecord) -> Night:
    """An accepted night held against the present baseline, from the copy that was accepted; nothing is written."""
    folder = NightlyFolder(spec.output, spec.name)
    baseline, record = _present_baseline(folder) or acceptance, acceptance.night
    scores = folder.baseline_scores(acceptance)
    gate = _judged(spec, record, scores, baseline, folder.baseline_scores(baseline))
    record = _with_outcome(record, baseline, gate)
    past = trends(folder.nights(), record, spec.nights)
    return Night(record, baseline, gate, past, folder.store.url(acceptance.scores), acceptance)


def _present_baseline(folder: NightlyFolder) -> BaselineRecord | None:
    return next(reversed(folder.baselines()), None)


def _begin(folder: NightlyFolder, chosen: Chosen) -> None:
    """Claim the night for its conditions; somebody else may have begun it under others since it was chosen."""
    changes = what_differs(folder.begin(chosen.night, chosen.conditions), chosen.conditions)
    if changes is not None:
        raise InputError(f"night {chosen.night}: it was begun just now with another specification ({changes}).")


def _with_outcome(record: NightRecord, baseline: BaselineRecord | None, gate: GateResult | None) -> NightRecord:
    return record.model_copy(
        update={
            "outcome": _outcome(record, gate),
            "baseline": baseline and baseline.number,
            "verdicts": {} if gate is None else {str(verdict): count for verdict, count in gate.counts.items()},
            "exit_code": _exit_code(record, gate),
        }
    )


def _left(sweep: SweepSpec, retry_failed: bool) -> int:
    """Work items that the sweep is about to solve; what could not be solved is refused before devices are timed."""
    folder = SweepFolder(sweep.output)
    plan = make_plan(sweep, folder, retry_failed)
    left = plan.left(folder.solved_shards())
    check_work(sweep, plan.cells, solving=left > 0, scoring=False)  # the sweep itself tells the warnings
    return left


def _measured(
    folder: NightlyFolder, night: str, sweep: SweepSpec, left: int, work: Callable[[], SweepResult]
) -> tuple[SweepResult, list[Reading]]:
    """The work between two calibrations, unless there is none to do."""
    if not left:
        return work(), folder.readings(night)
    folder.add_readings(night, calibrate(sweep.resources))
    result = work()
    return result, folder.add_readings(night, calibrate(sweep.resources))


def _record(
    spec: NightlySpec, night: str, started: str, counts: Counts, stored: StoredSweep, readings: list[Reading]
) -> NightRecord:
    return NightRecord(
        name=spec.name,
        night=night,
        started=started,
        finished=_now(),
        expected=counts.expected,
        committed=counts.committed,
        failed=counts.failed,
        complete=counts.complete,
        facts=night_facts(stored.spec, stored.folder.read_summary(), readings),
        calibration=readings,
        cells=cell_records(stored.record, readings),
        outcome=FIRST,
        baseline=None,
        exit_code=0,
    )


def _judged(
    spec: NightlySpec, record: NightRecord, scores: ScoreTable, baseline: BaselineRecord, accepted: ScoreTable
) -> GateResult:
    tolerances = spec.gate(accepted)
    if not tolerances:
        raise InputError(
            f"baseline {baseline.number}: it has none of the metrics that tolerances name; accept a night that has."
        )
    gate = compare(scores, accepted, tolerances)
    costs = judge_costs(record, baseline, {"speed": spec.speed, "memory": spec.memory}, gate.pairs)
    unjudged = [metric for metric in spec.judged() or () if metric not in tolerances]
    notes = [
        *gate.notes,
        *(f"{metric} is not in the baseline: not judged before another is accepted" for metric in unjudged),
    ]
    changed = what_changed(baseline.night.facts, record.facts)
    return replace(gate, judgements=(*gate.judgements, *costs), notes=(*notes, *([changed] if changed else [])))


def _outcome(record: NightRecord, gate: GateResult | None) -> str:
    """In a word or two; passed only where the exit code is 0."""
    if not record.complete:
        return NOT_COMPLETE
    if record.failed and (gate is None or gate.passed):
        return ROWS_FAILED
    return FIRST if gate is None else str(gate.outcome)


def _exit_code(record: NightRecord, gate: GateResult | None) -> int:
    """0 nothing became worse, 1 something did, is missing or failed, 2 not complete or nothing comparable."""
    if not record.complete or (gate is not None and not any(map(_compared, gate.judgements))):
        return 2
    return 1 if record.failed or (gate is not None and not gate.passed) else 0


def _compared(judgement: Judgement) -> bool:
    return judgement.metric not in QUALITY_ASIDE and judgement.verdict not in (Verdict.MISSING, Verdict.INCOMPARABLE)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
