"""What to try next, by what was tried: Optuna's sampler, which is imported when it is asked and not before."""

import itertools
import warnings
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from pipelines.plan.grid import Point, SearchAxis
from pipelines.plan.search_course import SearchCourse
from pipelines.plan.search_record import Batch, keep_batch, read_batch
from pipelines.storage.sweep_folder import SweepFolder

if TYPE_CHECKING:
    import optuna

Tried = tuple[Point, float | None]
"""A proposal and its level, larger is better; None where nothing of it could be scored."""

_REPEATS = 100
"""Proposals that were made before, in a row, after which the first one is taken that was not."""


def propose(axes: Mapping[str, SearchAxis], tried: Sequence[Tried], count: int, seed: int, number: int) -> list[Point]:
    """The proposals of batch `number`, all different and new: the same for the same trials, seed and Optuna."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    spaces = {name: _distribution(axis) for name, axis in axes.items()}
    draw = int.from_bytes(blake2b(f"{seed}/{number}".encode(), digest_size=4).digest(), "big")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        # the first batch is drawn at random, whatever it has asked for already
        first = 1 if tried else count
        sampler = optuna.samplers.TPESampler(seed=draw, n_startup_trials=first, multivariate=True, constant_liar=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for point, level in _levelled(tried):
        study.add_trial(optuna.trial.create_trial(params=point, distributions=spaces, value=level))
    known = {_key(point) for point, _ in tried}
    proposed: list[Point] = []
    for _ in range(count):
        point = _new(study, axes, spaces, known)
        known.add(_key(point))
        proposed.append(point)
    return proposed


def next_batch(
    folder: SweepFolder, course: SearchCourse, number: int, stayed: Sequence[Point] = (), tried: Sequence[Tried] = ()
) -> Batch:
    """A batch as it was proposed before, or proposed now and kept."""
    known = read_batch(folder, course.id, number)
    if known is not None:
        return known
    proposed = propose(course.spec.grid.search, tried, course.sizes[number], course.race.seed, number)
    return keep_batch(folder, course.id, number, Batch(stayed=list(stayed), proposed=proposed, by=_proposer()))


def _proposer() -> str:
    """Whose proposals they are: `optuna 5.0.0`."""
    import optuna

    return f"optuna {optuna.__version__}"


def _new(
    study: "optuna.Study", axes: Mapping[str, SearchAxis], spaces: dict[str, Any], known: set[tuple[str, ...]]
) -> Point:
    """Trials that were asked for stay open: the sampler keeps away from them, as from bad ones."""
    for _ in range(_REPEATS):
        asked = study.ask(spaces).params
        point = {name: _rounded(axis, asked[name]) for name, axis in axes.items()}
        if _key(point) not in known:
            return point
    ends = [axis if isinstance(axis, list) else axis.ends for axis in axes.values()]
    points = (dict(zip(axes, values, strict=True)) for values in itertools.product(*ends))
    return next(point for point in points if _key(point) not in known)


def _levelled(tried: Sequence[Tried]) -> list[tuple[Point, float]]:
    """What could not be scored counts as the worst that could; nothing is told where nothing could."""
    worst = min((level for _, level in tried if level is not None), default=None)
    return [] if worst is None else [(point, worst if level is None else level) for point, level in tried]


def _distribution(axis: SearchAxis) -> Any:
    import optuna

    if isinstance(axis, list):
        return optuna.distributions.CategoricalDistribution(axis)
    return optuna.distributions.FloatDistribution(*axis.ends, log=axis.log is not None)


def _rounded(axis: SearchAxis, value: Any) -> Any:
    return value if isinstance(axis, list) else axis.rounded(value)


def _key(point: Point) -> tuple[str, ...]:
    """True is not 1 and 1 is not 1.0 where settings are told apart."""
    return tuple(repr(point[name]) for name in sorted(point))
