"""From a sweep over settings to those that ship with a prior: the best of each arm and task, and all that was tried."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.metrics import MetricInfo
from eval.record import CellResult
from eval.statistics import Interval
from operators import InputError
from operators.pictures import write_bytes
from operators.plurals import counted
from operators.validation import did_you_mean
from pipelines.plan.arms import SHIPPED
from pipelines.plan.cells import Cell
from pipelines.raced_choice import check_raced, heat_of, raced_best, raced_words
from pipelines.score.stored_sweep import StoredSweep

if TYPE_CHECKING:
    from g2d2.methods import MethodSettings

TRIALS = "tuning.json"
"""Beside the prior's tuned settings: everything that was tried for them."""


@dataclass(frozen=True)
class LikeReal:
    """A second criterion, said before anything is tried: of settings that are nearly best, that most like real ones."""

    metrics: Sequence[str]
    """Those of which a setting's means are held against the real ones', by the sum of the differences."""

    within: float
    """How much worse than the best mean is nearly best, in the first metric's unit."""


@dataclass(frozen=True)
class Trial:
    """One cell of an arm's grid."""

    settings: dict[str, Any]
    """Those that the grid varies."""

    means: dict[str, float]
    """By metric, over the images that were solved."""

    solved: int
    failed: int
    seconds: float | None
    """Of one image."""

    left: str = ""
    """`left after 24` of one that left a race: its means are over so few."""

    confirmed: dict[str, float] = field(default_factory=dict)
    """Of the winner of a race, means over images that had no part in choosing it."""

    def record(self) -> dict[str, Any]:
        """As plain values, without what only a race has where there was none."""
        return {name: value for name, value in asdict(self).items() if name not in _RACED or value}


_RACED = ("left", "confirmed")


@dataclass(frozen=True)
class Search:
    """What was tried of an arm in a task."""

    arm: str
    method: str
    preset: str | None
    prior: str
    task: str
    start: "MethodSettings"
    """What the trials have in common; what they vary has the preset's values here."""

    best: Trial
    trials: list[Trial]
    """In the order of the grid, the best among them."""

    found_by: str
    """How the best was chosen, in words."""


def find_best(sweep: StoredSweep, metric: str, arms: Sequence[str] = (), like: LikeReal | None = None) -> list[Search]:
    """Of every arm that has a prior, or of those named, in every task; a sweep that is not complete is refused."""
    refuse_unfinished(sweep)
    info = judged_metric(sweep, metric)
    raced = sweep.spec.race is not None
    if raced:
        check_raced(sweep, metric)
        if like is not None:
            raise InputError("near: a race has one winner an arm, confirmed by itself; tune by --near on a whole grid.")
    found = []
    for arm in tunable_arms([sweep], arms):
        for task in sweep.record.tasks:
            if raced:
                winner = raced_best(sweep, arm, task, metric)
            else:
                winner = sweep.record.best_of(task, info, arm)
            if winner is None:
                raise InputError(f"arm {arm}: no setting of it has a {metric} in {task}; see `g2d2 status`.")
            if like is not None:
                winner = _most_like_real(sweep, winner, info, like)
            found.append(_search(sweep, arm, task, winner, metric, like))
    return found


def refuse_unfinished(sweep: StoredSweep) -> None:
    """The best of what is there so far may not be the best."""
    if sweep.missing:
        left = f"{sweep.missing} of {counted(sweep.expected, 'row')}"
        raise InputError(f"sweep {sweep.folder.url}: {left} are missing; run it to its end first.")


def judged_metric(sweep: StoredSweep, metric: str) -> MetricInfo:
    """A metric that has a better and a worse; others are refused."""
    judged = {info.name: info for info in sweep.record.judged}
    if metric not in judged:
        near = did_you_mean(metric, judged)
        raise InputError(f"metric: {metric!r}{near} must be one that the sweep has: {', '.join(judged)}.")
    return judged[metric]


def tunable_arms(sweeps: Sequence[StoredSweep], arms: Sequence[str]) -> list[str]:
    """Those named, or all, which must have a prior."""
    able = list(dict.fromkeys(cell.arm for sweep in sweeps for cell in sweep.plan.cells if cell.prior))
    unknown = [name for name in arms if name not in able]
    if unknown or not able:
        words = ", ".join(unknown) or "each"
        raise InputError(
            f"arms: {words} has no prior to be tuned for here; those that have: {', '.join(able) or 'none'}."
        )
    return [*arms] or able


def _most_like_real(sweep: StoredSweep, best: CellResult, metric: MetricInfo, like: LikeReal) -> CellResult:
    """Of the cells of the best one's arm and task that are nearly as good, that with the real ones' means."""
    real = sweep.record.real.get(best.task, {})
    lacking = [name for name in like.metrics if name not in real]
    if lacking:
        raise InputError(
            f"near: the sweep has no {', '.join(lacking)} of real ones; name metrics that it scores, that need nothing "
            "but what is scored, on measurements with a truth."
        )
    nearly = []
    for cell in sweep.record.of_task(best.task):
        loss = abs(cell.ranked.get(metric.name, math.inf) - best.ranked[metric.name])
        if cell.arm == best.arm and loss <= like.within and set(like.metrics) <= set(cell.means):
            nearly.append(cell)
    return min(nearly, key=lambda cell: sum(abs(cell.means[name].mean - real[name].mean) for name in like.metrics))


def _search(sweep: StoredSweep, arm: str, task: str, winner: CellResult, metric: str, like: LikeReal | None) -> Search:
    cells = [cell for cell in sweep.plan.cells if (cell.arm, cell.task) == (arm, task)]
    arms, split = sweep.spec.all_arms(), sweep.spec.split_by()
    choice = arms[arm] if split is None else next(iter(arms.values()))
    if choice.preset in SHIPPED:
        raise InputError(
            f"arm {arm}: it starts from what was tuned before; a search starts from a preset of its method."
        )
    varied = [name for name in choice.grid.names() if name != split]
    fixed = choice.settings | ({} if split is None else {split: cells[0].settings[split]})
    trials = {cell.id: trial_of(sweep, cell, {name: cell.settings[name] for name in varied}) for cell in cells}
    first = sweep.spec.select.skip
    if sweep.spec.race is None:
        count = sweep.record.images(task)
        chosen = f"best {metric}"
        if like is not None:
            chosen = (
                f"nearest to the real {' and '.join(like.metrics)} within {like.within:g} of the best {metric}, out"
            )
        chosen += f" of {counted(len(cells), 'setting')} on {counted(count, 'measurement')}"
    else:
        count = heat_of(sweep, arm, task).measurements  # of which the race took some at random
        chosen = raced_words(sweep, cells, winner, metric)
    return Search(
        arm=arm,
        method=choice.method,
        preset=choice.preset,
        prior=cells[0].prior,
        task=task,
        start=choice.load_method().settings(choice.preset, choice.experiment, **fixed),
        best=trials[winner.id],
        trials=list(trials.values()),
        found_by=f"{chosen} (rows {first} to {first + count - 1} of every task), all of them in {TRIALS}",
    )


def trial_of(sweep: StoredSweep, cell: Cell, settings: dict[str, Any]) -> Trial:
    """What a cell gave, under those of its settings by which it is told apart."""
    result, race = sweep.record.cell(cell.id), sweep.record.race
    won = [one.means for one in race.confirmations if one.cell == cell.id] if race is not None else []
    return Trial(
        settings=settings,
        means=_rounded(result.means),
        solved=result.solved,
        failed=result.failed,
        seconds=None if result.seconds is None else float(f"{result.seconds:.3g}"),
        left=result.left,
        confirmed=_rounded(won[0]) if won else {},
    )


def _rounded(means: Mapping[str, Interval]) -> dict[str, float]:
    return {name: float(f"{interval.mean:.6g}") for name, interval in means.items()}


def write_tuned(found: Sequence[Search], sweep: StoredSweep, folder: Path) -> None:
    """Put the best into the tuned settings of the prior in `folder`, and the trials beside them.

    What is there of other methods, tasks and starting points stays. The first arm of a method is where its settings
    start; what holds for another arm holds under the settings in which it differs from the first.
    """
    from g2d2.methods import find_method  # torch, which the choice alone does without
    from g2d2.methods.tuned import Case, Tuned, differing

    content = tuned_before(folder)
    priors = dict.fromkeys(search.prior for search in found)
    if len(priors) > 1:
        raise InputError(f"into: the arms have the priors {', '.join(priors)}; choose arms of one of them with --arms.")
    for search in found:
        method = find_method(search.method)
        if search.method in content:
            tuned = Tuned.model_validate(content[search.method])
        else:
            shared = differing(search.start, method.settings(search.preset), search.best.settings)
            tuned = Tuned(found_by=search.found_by, preset=search.preset, shared=shared)
        words = None if tuned.found_by == search.found_by else search.found_by
        tuned = tuned.with_case(method, search.task, search.start, Case(settings=search.best.settings, found_by=words))
        content[search.method] = tuned.model_dump(exclude_defaults=True)
    write_settings(folder, content, [_record(search, sweep) for search in found])


def tuned_before(folder: Path) -> dict[str, Any]:
    """What is tuned for the prior in `folder` by method, which must be a folder."""
    from g2d2.methods.tuned import read_tuned  # torch

    if not folder.is_dir():
        raise InputError(f"into: {folder} is no folder; give that of the prior.")
    return read_tuned(folder)


def write_settings(folder: Path, content: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> None:
    """The prior's tuned settings, and beside them records of what was tried in place of earlier ones of the same."""
    from g2d2.methods import find_method  # torch
    from g2d2.methods.tuned import FILE, tuned_settings

    trials = _read_trials(folder)
    for record in records:
        trials = [one for one in trials if any(one.get(name) != record.get(name) for name in _PLACE)] + [{**record}]
    _write(folder / TRIALS, trials)
    _write(folder / FILE, content)
    for name in dict.fromkeys(record["method"] for record in records):
        tuned_settings(folder, find_method(name))  # a sentence now, not when somebody uses it


_PLACE = ("preset", "method", "task", "start")
"""What a record is about: a later search of the same replaces it."""


def _record(search: Search, sweep: StoredSweep) -> dict[str, Any]:
    start = {name: value for name, value in search.start.model_dump().items() if name not in search.best.settings}
    return {
        "method": search.method,
        "task": search.task,
        "start": start,
        "found_by": search.found_by,
        "manifest_digest": sweep.plan.manifest_digest,
        "prior_digest": sweep.plan.priors[search.prior],
        "best": search.best.settings,
        "trials": [trial.record() for trial in search.trials],
    }


def _read_trials(folder: Path) -> list[dict[str, Any]]:
    path = folder / TRIALS
    if not path.is_file():
        return []
    try:
        trials = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        trials = None
    if not isinstance(trials, list) or not all(isinstance(one, dict) for one in trials):
        raise InputError(f"into: {path} is no list of searches as `g2d2 tune` writes it; move it away.")
    return trials


def _write(path: Path, content: Any) -> None:
    write_bytes((json.dumps(content, indent=1) + "\n").encode(), path)
