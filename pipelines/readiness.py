"""What of a specification can never be done, found before any device is asked for.

A cause that every row of a task shares refuses the work. Single rows that cannot be solved are warned of and become
failed rows with their sentence: one bad row never costs another.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from eval.distribution import absent_network, distribution_network
from eval.metrics import check_metric
from g2d2.priors.limits import PriorLimits, read_limits
from g2d2.priors.locating import locate_prior
from g2d2.solvers import load_solver
from operators import InputError, operator_names, operator_settings
from operators.plurals import counted
from operators.sizes import size_words
from pipelines.cells import Cell
from pipelines.manifest import Manifest, build_row_operator
from pipelines.manifest.reading import Place
from pipelines.selection import selected
from pipelines.spec import SweepSpec

_COLUMNS = ("id", "task", "operator", "operator_params", "image_shape", "y_shape", "prompt")
"""All of a row that decides whether it can be solved, its pixels apart."""


_MOST_OPERATORS = 1000
"""Different ones that are built, a millisecond each. Where so many can be, others that cannot are single rows'."""


class Kind(NamedTuple):
    """Rows that can be solved or not for the same reason."""

    task: str
    operator: str
    operator_params: str
    image_shape: tuple[int, ...]
    y_shape: tuple[int, ...]
    tokens: int
    """Of a prompt that has too many; 0 of any other, since thousands of rows may each have their own."""


class Problem(NamedTuple):
    """Why a row cannot be solved."""

    field: str
    reason: str


@dataclass
class Rows:
    """Rows of one kind."""

    first: str
    place: Place
    count: int = 0


@dataclass(frozen=True)
class Readiness:
    """What is known of work that can begin."""

    warnings: list[str]
    solvable: dict[str, Place] = field(default_factory=dict)
    """By task, where the first row lies that nothing speaks against."""


def check_solving(spec: SweepSpec, cells: Sequence[Cell]) -> Readiness:
    """Refuse what no device could solve or score; warnings name single rows that will fail."""
    load_solver(spec.solver.method)
    limits = read_limits(locate_prior(spec.prior))
    _check_steps(cells, limits)
    warnings = check_scoring(spec.metrics, spec.distribution, limits.image_shape)
    manifest, tasks = Manifest.open(spec.manifest), {cell.task for cell in cells}
    prompted = {cell.task for cell in cells if cell.settings["guidance"] != 0}
    kinds = _counted_kinds(_rows(selected(manifest.index(_COLUMNS), spec.select, tasks), limits, prompted))
    problems = _problems(kinds, limits)
    solvable: dict[str, Place] = {}
    for task in dict.fromkeys(kind.task for kind in kinds):
        own = {kind: rows for kind, rows in kinds.items() if kind.task == task}
        good = [rows.place for kind, rows in own.items() if kind not in problems]
        bad = [(problems[kind], rows) for kind, rows in own.items() if kind in problems]
        if not good:
            raise InputError(_refusal(task, bad))
        solvable[task] = min(good)
        warnings += _row_warnings(spec, task, bad, sum(rows.count for rows in own.values()))
    return Readiness([*warnings, *_foreign_operators(kinds)], solvable)


def check_work(spec: SweepSpec, cells: Sequence[Cell], solving: bool, scoring: bool) -> list[str]:
    """The same for what a sweep has left to do; a sweep that is complete needs neither weights nor prior."""
    if solving:
        return check_solving(spec, cells).warnings
    return check_scoring(spec.metrics, spec.distribution) if scoring else []


def check_scoring(
    metrics: Iterable[str], distribution: Iterable[str], image_shape: Sequence[int] | None = None
) -> list[str]:
    """Refuse metrics that cannot be measured here; a distance without its network is only warned of."""
    for name in metrics:
        check_metric(name, image_shape)
    reasons = {name: absent_network(distribution_network(name)) for name in distribution}
    return [f"distribution: {name} will have no value: {reason}" for name, reason in reasons.items() if reason]


def misfits(manifest: Manifest, limits: PriorLimits) -> Iterator[str]:
    """A line for every row whose images or prompt the prior cannot take, a prompt also where guidance 0 ignores it."""
    for row, kind in _rows(manifest.index(_COLUMNS), limits, set(manifest.tasks)):
        problem = _size_problem(kind, limits) or _prompt_problem(kind, limits)
        if problem is not None:
            yield f"{row['id']}: {problem.reason}."


def _check_steps(cells: Sequence[Cell], limits: PriorLimits) -> None:
    long = [cell.settings["steps"] for cell in cells if cell.settings["steps"] > limits.train_steps]
    if long:
        raise InputError(
            f"steps: {long[0]} is more than the prior's {limits.train_steps} training steps, in {len(long)} of "
            f"{counted(len(cells), 'cell')}; use 1 to {limits.train_steps}."
        )


def _rows(
    batches: Iterable[pa.RecordBatch], limits: PriorLimits, prompted: set[str]
) -> Iterator[tuple[dict[str, Any], Kind]]:
    """Every row with its kind; only the prompts of the tasks named count."""
    for batch in batches:
        rows = batch.to_pylist()
        too_long = limits.too_long({row["prompt"] for row in rows if row["task"] in prompted})
        for row in rows:
            shapes = (tuple(row["image_shape"]), tuple(row["y_shape"]))
            tokens = too_long.get(row["prompt"], 0) if row["task"] in prompted else 0
            yield row, Kind(row["task"], row["operator"], row["operator_params"], *shapes, tokens)


def _counted_kinds(rows: Iterable[tuple[dict[str, Any], Kind]]) -> dict[Kind, Rows]:
    """How many rows each kind has, and the first of them."""
    kinds: dict[Kind, Rows] = {}
    for row, kind in rows:
        kinds.setdefault(kind, Rows(row["id"], (row["shard"], row["row"]))).count += 1
    return kinds


def _problems(kinds: Iterable[Kind], limits: PriorLimits) -> dict[Kind, Problem]:
    """The first thing that speaks against each kind of row; no operator is built for images of another size."""
    operators: dict[tuple[Any, ...], Problem | None] = {}
    problems, built = {}, 0
    for kind in kinds:
        problem = _size_problem(kind, limits) or _prompt_problem(kind, limits)
        key = (kind.operator, kind.operator_params, kind.y_shape)
        if problem is None and key not in operators and built < _MOST_OPERATORS:
            operators[key] = _operator_problem(kind)
            built += operators[key] is None
        problem = problem or operators.get(key)
        if problem is not None:
            problems[kind] = problem
    return problems


def _size_problem(kind: Kind, limits: PriorLimits) -> Problem | None:
    if kind.image_shape == limits.image_shape:
        return None
    sizes = f"its images are {size_words(kind.image_shape)} and the prior's {size_words(limits.image_shape)}"
    return Problem("image_shape", sizes)


def _prompt_problem(kind: Kind, limits: PriorLimits) -> Problem | None:
    if not kind.tokens:
        return None
    allowed = f"its prompt has {kind.tokens} tokens and the prior's tokenizer allows {limits.prompt_tokens}"
    return Problem("prompt", allowed)


def _operator_problem(kind: Kind) -> Problem | None:
    try:
        operator = build_row_operator(kind._asdict() | {"id": "operator"})
    except InputError as error:
        reason = str(error).removeprefix("operator: ").rstrip(".")
        return Problem("operator", f"its operator cannot be made here ({reason})")
    if operator.measurement_shape != kind.y_shape:
        made = size_words(operator.measurement_shape)
        return Problem("y_shape", f"its measurement is {size_words(kind.y_shape)} and {kind.operator} makes {made}")
    return None


def _foreign_operators(kinds: Iterable[Kind]) -> Iterator[str]:
    """What this process knows although a worker, which starts with our own operators alone, may not."""
    for name in sorted({kind.operator for kind in kinds} & set(operator_names())):
        home = operator_settings(name).__module__
        if home.partition(".")[0] != "operators":
            yield f"operator: {name} is registered by {home}; workers that do not import it will fail its rows."


def _refusal(task: str, bad: list[tuple[Problem, Rows]]) -> str:
    problem, rows = min(bad, key=lambda one: one[1].place)
    count = sum(rows.count for _, rows in bad)
    return (
        f"{problem.field}: all {counted(count, 'measurement')} of task {task!r} would fail, {rows.first} the first: "
        f"{problem.reason}; build the manifest for this prior, or leave the task out with select.tasks."
    )


def _row_warnings(spec: SweepSpec, task: str, bad: list[tuple[Problem, Rows]], total: int) -> Iterator[str]:
    for name in dict.fromkeys(problem.field for problem, _ in bad):
        same = [(problem, rows) for problem, rows in bad if problem.field == name]
        problem, rows = min(same, key=lambda one: one[1].place)
        count = sum(rows.count for _, rows in same)
        yield (
            f"{name}: {count} of {counted(total, 'measurement')} of task {task!r} will fail, {rows.first} the first: "
            f"{problem.reason}; "
            f"`g2d2 manifest check {spec.manifest} --prior {spec.prior}` names every one."
        )
