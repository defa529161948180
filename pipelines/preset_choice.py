"""Presets that ship with a prior under a name: of all settings of some sweeps, the best that decodes seldom enough."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.metrics import MetricInfo
from eval.record.ranking import ranking_means
from eval.scores import CellValues
from operators import InputError
from operators.plurals import counted
from pipelines.plan.cells import Cell
from pipelines.score.stored_sweep import StoredSweep
from pipelines.tuning import (
    TRIALS,
    Trial,
    judged_metric,
    refuse_unfinished,
    trial_of,
    tunable_arms,
    tuned_before,
    write_settings,
)

if TYPE_CHECKING:
    from g2d2.methods import Method, MethodSettings


@dataclass(frozen=True)
class Candidate:
    """One cell of one of the sweeps."""

    arm: str
    settings: "MethodSettings"
    trial: Trial
    """Its settings are those that are not the first preset's of its method."""

    decoder_calls: float
    """Of a measurement, on average."""

    values: CellValues

    def record(self) -> dict[str, Any]:
        return {"arm": self.arm, "decoder_calls": self.decoder_calls} | self.trial.record()


@dataclass(frozen=True)
class PresetSearch:
    """What was tried in a task for a preset."""

    name: str
    method: str
    task: str
    best: Candidate
    tried: list[Candidate]
    """All of them, those above the limit too."""

    within: int
    """How many of them may be chosen."""

    found_by: str
    digests: dict[str, str]
    """Of the manifest and the prior."""

    def record(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "preset": self.name, "method": self.method, "task": self.task, "found_by": self.found_by, **self.digests,
            "best": self.best.trial.settings, "trials": [one.record() for one in self.tried],
        }  # fmt: skip


def find_preset(
    sweeps: Sequence[StoredSweep], name: str, metric: str, arms: Sequence[str] = (), most_calls: float | None = None
) -> list[PresetSearch]:
    """Of every task the best mean over all arms, or those named, of sweeps that were run on the same measurements."""
    for sweep in sweeps:
        refuse_unfinished(sweep)
        info = judged_metric(sweep, metric)
        if sweep.spec.race is not None:
            raise InputError(f"as: sweep {sweep.folder.url} is a race, which does not run every setting to its end.")
    names = tunable_arms(sweeps, arms)
    cells = [(sweep, cell) for sweep in sweeps for cell in sweep.plan.cells if cell.arm in names]
    first, start = cells[0]
    digests = {"manifest_digest": first.plan.manifest_digest, "prior_digest": first.plan.priors[start.prior]}
    for sweep, cell in cells:
        if cell.method != start.method or sweep.plan.priors.get(cell.prior) != digests["prior_digest"]:
            raise InputError("as: the arms have several methods or priors; choose those of one of each with --arms.")
    found = []
    for task in dict.fromkeys(cell.task for _, cell in cells):
        tried = [_candidate(sweep, cell, metric) for sweep, cell in cells if cell.task == task]
        _refuse_unlike(task, tried)
        within = [one for one in tried if most_calls is None or one.decoder_calls <= most_calls]
        if not within:
            fewest = min(one.decoder_calls for one in tried)
            raise InputError(f"most_calls: {most_calls:g} is below what any setting has in {task}, {fewest:g} or more.")
        best = _best(within, info, task)
        words = _found_by(sweeps, info, tried, within, most_calls)
        found.append(PresetSearch(name, start.method, task, best, tried, len(within), words, digests))
    return found


def _candidate(sweep: StoredSweep, cell: Cell, metric: str) -> Candidate:
    from g2d2.methods import find_method  # torch
    from g2d2.methods.tuned import differing

    calls = sweep.scores.mean(cell.id, "decoder_calls")
    if calls is None:
        raise InputError(f"as: nobody counted how often arm {cell.arm} decodes in {cell.task}; leave it out by --arms.")
    method: Method[Any, Any] = find_method(cell.method)
    settings = method.validated(cell.settings)
    own = differing(settings, method.settings(), ())
    trial = trial_of(sweep, cell, own)
    return Candidate(cell.arm, settings, trial, float(f"{calls:.6g}"), sweep.scores.values(cell.id, metric))


def _best(within: Sequence[Candidate], metric: MetricInfo, task: str) -> Candidate:
    means = ranking_means({str(place): one.values for place, one in enumerate(within)})
    if not means:
        raise InputError(f"as: no setting has a {metric.name} in {task}; see `g2d2 status`.")
    return within[int((max if metric.direction == "higher" else min)(means, key=means.__getitem__))]


def _found_by(
    sweeps: Sequence[StoredSweep], metric: MetricInfo, tried: Sequence[Candidate], within: Sequence[Candidate],
    most_calls: float | None,
) -> str:  # fmt: skip
    count, skipped = len(set(tried[0].values.measurements.tolist())), sweeps[0].spec.select.skip
    measured = f"{counted(count, 'measurement')} (rows {skipped} to {skipped + count - 1} of every task)"
    limited = "" if most_calls is None else f"the {len(within)} with at most {most_calls:g} decoder calls of "
    names = " and ".join(dict.fromkeys(sweep.spec.name for sweep in sweeps))
    trials = f"{limited}{counted(len(tried), 'setting')} of {names}"
    return f"best {metric.name} of {trials} on {measured}, all of them in {TRIALS}"


def _refuse_unlike(task: str, tried: Sequence[Candidate]) -> None:
    """Means over other measurements are no means to choose by."""
    first = _measured(tried[0].values)
    for one in tried:
        if _measured(one.values) != first:
            raise InputError(
                f"as: the sweeps have other measurements of {task} ({tried[0].arm} {len(first)}, {one.arm} "
                f"{len(_measured(one.values))}); give those that were run on the same ones."
            )


def _measured(values: CellValues) -> Counter[tuple[Any, int]]:
    return Counter(zip(values.digests.tolist(), values.seeds.tolist(), strict=True))


def write_preset(found: Sequence[PresetSearch], folder: Path) -> None:
    """Put the winners into the tuned settings of the prior in `folder` under the preset's name, all trials beside them.

    What is there of other presets and tasks stays. Tasks that were not searched have what all tasks share: where the
    preset is new, the settings of the first winner.
    """
    from g2d2.methods import find_method  # torch, which the choice alone does without
    from g2d2.methods.tuned import Case, Tuned, differing

    first, content = found[0], tuned_before(folder)
    method = find_method(first.method)
    if first.method not in content:
        raise InputError(f"into: nothing is tuned of {first.method} in {folder} yet; `g2d2 tune` without --as begins.")
    whole = Tuned.model_validate(content[first.method])
    preset = whole.others.get(first.name)
    if preset is None:
        shared = differing(first.best.settings, method.settings(), ())
        preset = Tuned(found_by=first.found_by, shared=shared)
    base = preset.settings(method, None, {})
    for search in found:
        words = None if preset.found_by == search.found_by else search.found_by
        case = Case(settings=differing(search.best.settings, base, ()), found_by=words)
        preset = preset.model_copy(update={"tasks": preset.tasks | {search.task: [case]}})
    whole = whole.model_copy(update={"others": whole.others | {first.name: preset}})
    content = content | {first.method: whole.model_dump(exclude_defaults=True)}
    write_settings(folder, content, [search.record() for search in found])
