"""What of a specification can never be done, found before any device is asked for.

A cause that every row of a task shares refuses the work. Single rows that cannot be solved are warned of and become
failed rows with their sentence: one bad row never costs another.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from eval.distribution import absent_network, distribution_network, distribution_signal
from eval.metrics import check_metrics
from g2d2.methods import Method, find_method
from g2d2.priors.base import PriorFacts
from g2d2.priors.catalog import CATALOG
from g2d2.priors.families import find_family
from g2d2.priors.locating import locate_prior
from operators import InputError, Operator
from operators.plurals import counted
from operators.sizes import size_words
from pipelines.manifest import Manifest, build_row_operator
from pipelines.manifest.reading import Place
from pipelines.plan.cells import Cell
from pipelines.plan.chosen_metrics import chosen_metrics
from pipelines.plan.selected_rows import selected
from pipelines.plan.sweep_spec import SweepSpec

_COLUMNS = ("id", "task", "signal", "operator", "operator_params", "x_shape", "y_shape", "prompt")
"""All of a row that decides whether it can be solved, its values apart."""


_MOST_OPERATORS = 1000
"""Different ones that are built, a millisecond each. Where so many can be, others that cannot are single rows'."""


class Kind(NamedTuple):
    """Rows that can be solved or not for the same reason."""

    task: str
    signal: str
    operator: str
    operator_params: str
    x_shape: tuple[int, ...]
    y_shape: tuple[int, ...]
    prompt_problem: str
    """Why the prior does not take the prompt; empty where it does, since thousands of rows may each have their own."""


class Problem(NamedTuple):
    """Why a row cannot be solved."""

    field: str
    reason: str
    remedy: str = "build the manifest for this prior"
    """What to do where no row of a task can be."""


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


@dataclass(frozen=True)
class Restorer:
    """A method on a prior, with the cells that it is to solve."""

    name: str
    """`method on prior`, as sentences call it."""
    prior: str
    method: Method[Any, Any]
    facts: PriorFacts | None
    cells: list[Cell]

    @property
    def prompted(self) -> set[str]:
        """Tasks whose prompts are read: guidance 0 reads none."""
        return {cell.task for cell in self.cells if cell.settings.get("guidance") != 0} if self.facts else set()

    @property
    def guidances(self) -> set[float]:
        """Guidance scales with which prompts are read; a method without the setting takes them as they are."""
        return {float(cell.settings.get("guidance", 1.0)) for cell in self.cells} - {0.0}

    def problem(self, kind: Kind, operator: Operator) -> Problem | None:
        """Why the method cannot restore rows of this kind, whose operator is this one."""
        if kind.prompt_problem:
            return Problem("prompt", f"its prompt {kind.prompt_problem}".partition(";")[0])
        settings = self.method.validated(self.cells[0].settings)
        try:
            self.method.check(self.facts, operator, settings)
        except InputError as error:
            name, _, reason = str(error).rstrip(".").partition(": ")
            return Problem(name, reason.partition(";")[0])
        return None


def restorers(cells: Sequence[Cell]) -> list[Restorer]:
    """Every method and prior of these cells, with what the prior's files say; refuses settings no prior could take."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.prior, cell.method), []).append(cell)
    facts = {prior: locate_prior(prior).facts() for prior in dict.fromkeys(prior for prior, _ in groups) if prior}
    made = []
    for (prior, name), own in groups.items():
        method = find_method(name)
        one = Restorer(f"{name} on {prior}" if prior else name, prior, method, facts.get(prior), own)
        _check_cells(one)
        made.append(one)
    return made


def check_solving(spec: SweepSpec, cells: Sequence[Cell]) -> Readiness:
    """Refuse what no device could solve or score; warnings name single rows that will fail."""
    manifest, tasks = Manifest.open(spec.manifest), {cell.task for cell in cells}
    metrics = chosen_metrics(spec, manifest)
    warnings: list[str] = []
    solvable: dict[str, Place] = {}
    makers = restorers(cells)
    operators = _Operators()
    for maker in makers:
        own = {cell.task for cell in maker.cells}
        batches = selected(manifest.index(_COLUMNS), spec.select, tasks)
        kinds = _counted_kinds(_rows(batches, maker.facts, maker.prompted, maker.guidances))
        for task in dict.fromkeys(kind.task for kind in kinds if kind.task in own):
            of_task = {kind: rows for kind, rows in kinds.items() if kind.task == task}
            problems = {kind: problem for kind in of_task if (problem := operators.problem(kind, maker)) is not None}
            good = [rows.place for kind, rows in of_task.items() if kind not in problems]
            bad = [(problems[kind], rows) for kind, rows in of_task.items() if kind in problems]
            if not good:
                raise InputError(_refusal(task, bad, maker, len(makers) > 1))
            solvable[task] = max(solvable.get(task, min(good)), min(good))
            warnings += _row_warnings(spec, task, bad, sum(rows.count for rows in of_task.values()), maker)
            warnings += check_scoring(metrics, spec.distribution, manifest, next(iter(of_task)))
    return Readiness(list(dict.fromkeys(warnings)), solvable)


def check_work(spec: SweepSpec, cells: Sequence[Cell], solving: bool, scoring: bool) -> list[str]:
    """The same for what a sweep has left to do; a sweep that is complete needs neither weights nor prior."""
    if solving:
        return check_solving(spec, cells).warnings
    return check_scoring(chosen_metrics(spec), spec.distribution) if scoring else []


def check_scoring(
    metrics: Iterable[str], distribution: Iterable[str], manifest: Manifest | None = None, kind: Kind | None = None
) -> list[str]:
    """Refuse metrics that cannot be measured here; a distance without its network is only warned of."""
    if kind is None or manifest is None:
        warnings = check_metrics(list(metrics))
    else:
        missing, total = manifest.truthless(kind.task)
        warnings = check_metrics(
            list(metrics), signal=kind.signal, x_shape=kind.x_shape, truths_missing=missing, total=total
        )
    reasons = {name: absent_network(distribution_network(name)) for name in distribution}
    for name in reasons if kind is not None else ():
        if kind is not None and distribution_signal(name) != kind.signal:
            raise InputError(
                f"distribution: {name} is of {distribution_signal(name)}s, and task {kind.task!r} has {kind.signal}s."
            )
    return [
        *warnings, *(f"distribution: {name} will have no value: {why}" for name, why in reasons.items() if why)
    ]  # fmt: skip


def misfits(manifest: Manifest, facts: PriorFacts) -> Iterator[str]:
    """A line for every row whose x or prompt the prior cannot take, a prompt also where guidance 0 ignores it."""
    for row, kind in _rows(manifest.index(_COLUMNS), facts, set(manifest.tasks)):
        if misfit := facts.x_misfit(kind.signal, kind.x_shape):
            yield f"{row['id']}: {misfit.field}: {misfit.reason}."
        elif kind.prompt_problem:
            yield f"{row['id']}: its prompt {kind.prompt_problem}."


def _check_cells(maker: Restorer) -> None:
    """Settings that the prior cannot take, such as more steps than it has."""
    refused: list[InputError] = []
    for cell in maker.cells:
        try:
            maker.method.check_prior(maker.facts, maker.method.validated(cell.settings))
        except InputError as error:
            refused.append(error)
    if refused:
        sentence, _, remedy = str(refused[0]).partition("; ")
        part = f" ({maker.name}, {len(refused)} of its {counted(len(maker.cells), 'cell')})"
        remedy = remedy or _fitting(maker)
        raise InputError(f"{sentence.rstrip('.')}{part}; {remedy}" if remedy else f"{sentence.rstrip('.')}{part}.")


def _fitting(maker: Restorer) -> str:
    """Which priors that have a name are of the kind the method needs, where this one is not."""
    wanted = maker.method.prior
    if wanted is None or maker.facts is None or issubclass(maker.facts.kind, wanted):
        return ""
    names = [name for name, known in CATALOG.items() if issubclass(find_family(known.family).kind, wanted)]
    return f"known ones that are: {', '.join(names)}." if names else ""


def _rows(
    batches: Iterable[pa.RecordBatch], facts: PriorFacts | None, prompted: set[str], guidances: Iterable[float] = (1.0,)
) -> Iterator[tuple[dict[str, Any], Kind]]:
    """Every row with its kind; only the prompts of the tasks named count."""
    guidances = sorted(guidances)
    for batch in batches:
        rows = batch.to_pylist()
        wanted = {row["prompt"] for row in rows if row["task"] in prompted}
        problems: dict[str, str] = {}
        for guidance in guidances:
            problems = ({} if facts is None else facts.prompt_problems(wanted, guidance)) | problems
        for row in rows:
            shapes = (tuple(row["x_shape"]), tuple(row["y_shape"]))
            problem = problems.get(row["prompt"], "") if row["task"] in prompted else ""
            kind = (row["task"], row["signal"], row["operator"], row["operator_params"])
            yield row, Kind(*kind, *shapes, problem)


def _counted_kinds(rows: Iterable[tuple[dict[str, Any], Kind]]) -> dict[Kind, Rows]:
    """How many rows each kind has, and the first of them."""
    kinds: dict[Kind, Rows] = {}
    for row, kind in rows:
        kinds.setdefault(kind, Rows(row["id"], (row["shard"], row["row"]))).count += 1
    return kinds


class _Operators:
    """Operators of kinds of rows, each built once and only so many of them."""

    def __init__(self) -> None:
        self.built: dict[tuple[Any, ...], Operator | Problem] = {}

    def problem(self, kind: Kind, maker: Restorer) -> Problem | None:
        """The first thing that speaks against rows of this kind; no operator is built for x of another size."""
        if maker.facts is not None and (misfit := maker.facts.x_misfit(kind.signal, kind.x_shape)) is not None:
            return Problem(*misfit)
        key = kind[1:-1]
        if key not in self.built and len(self.built) < _MOST_OPERATORS:
            self.built[key] = _built(kind)
        operator = self.built.get(key)
        if isinstance(operator, Problem):
            return operator
        return None if operator is None else maker.problem(kind, operator)


def _built(kind: Kind) -> Operator | Problem:
    try:
        operator = build_row_operator(kind._asdict() | {"id": "operator"})
    except InputError as error:
        reason = str(error).removeprefix("operator: ").rstrip(".")
        return Problem("operator", f"its operator cannot be made here ({reason})")
    if operator.y_shape != kind.y_shape:
        made = size_words(operator.y_shape)
        return Problem("y_shape", f"its measurement is {size_words(kind.y_shape)} and {kind.operator} makes {made}")
    return operator


def _refusal(task: str, bad: list[tuple[Problem, Rows]], maker: Restorer, several: bool) -> str:
    problem, rows = min(bad, key=lambda one: one[1].place)
    count = sum(rows.count for _, rows in bad)
    with_ = f" with {maker.name}" if several else ""
    return (
        f"{problem.field}: all {counted(count, 'measurement')} of task {task!r} would fail{with_}, {rows.first} the "
        f"first: {problem.reason}; {problem.remedy}, or leave the task out with select.tasks."
    )


def _row_warnings(
    spec: SweepSpec, task: str, bad: list[tuple[Problem, Rows]], total: int, maker: Restorer
) -> Iterator[str]:
    for name in dict.fromkeys(problem.field for problem, _ in bad):
        same = [(problem, rows) for problem, rows in bad if problem.field == name]
        problem, rows = min(same, key=lambda one: one[1].place)
        count = sum(rows.count for _, rows in same)
        check = f" --prior {maker.prior}" if maker.prior else ""
        yield (
            f"{name}: {count} of {counted(total, 'measurement')} of task {task!r} will fail, {rows.first} the first: "
            f"{problem.reason}; `g2d2 manifest check {spec.manifest}{check}` names every one."
        )
