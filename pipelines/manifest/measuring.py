"""From sources to measured rows, whatever their signal: in batches, and past what cannot be used."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from operators import InputError, Operator, Signal, build_operator, check_measurement, find_signal, measure
from operators.registry import OPERATORS, stack_operators
from operators.validation import shorten
from pipelines.console.options import item_seed
from pipelines.manifest.manifest_record import Rejected
from pipelines.manifest.schema import Row, canonical_json, id_problem, row_id, safe_id

BATCH_ROWS = 32
BATCH_BYTES = 16 * 2**20
"""Rows that are measured together; all that wait end at these bytes."""


@dataclass(frozen=True, eq=False)
class SourceRow:
    """One row of a manifest to be: what to measure, and how; or what was measured elsewhere."""

    id: str
    """Its name within the task: letters, digits and . _ / @ : + = -."""
    truth: Tensor | None
    """The x that is measured; None where nobody knows it, and then `y` and `x_shape` are given."""
    operator: str
    """By name, or `module:thing`."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the operator; those left out keep their defaults."""
    sigma: float = 0.05
    """Noise level."""
    seed: int | None = None
    """Of the noise, and of what methods draw; None: it follows from task and id."""
    prompt: str = ""
    label: str | None = None
    signal: str | None = None
    """What x is, by name; None: what the operator measures."""
    task: str | None = None
    """What it is compared under; None: the task given to `write_manifest`, else the operator's own name."""
    y: Tensor | None = None
    """A measurement that was made elsewhere; None: it is made here."""
    x_shape: tuple[int, ...] | None = None
    """Of an unknown x."""


@dataclass(frozen=True, eq=False)
class _Checked:
    """A source with its operator, and its truth as it is stored."""

    source: SourceRow
    task: str
    operator: Operator
    seed: int
    truth: Tensor | None
    """As it is stored, and measured."""
    stored: bytes | None

    @property
    def company(self) -> tuple[Any, ...]:
        """What rows that are measured together have in common."""
        return self.task, self.source.operator, self.operator.x_shape, self.operator.y_shape

    @property
    def nbytes(self) -> int:
        return 4 * math.prod(self.operator.x_shape)


class Measurer:
    """Turns sources into rows; those it had to leave out are in `rejected`."""

    def __init__(self, rejected: list[Rejected] | None = None, task: str | None = None):
        self.rejected: list[Rejected] = [] if rejected is None else rejected
        self.task = task
        """Of sources that name none."""
        self._seen: set[str] = set()
        self._operator = lru_cache(maxsize=32)(_build)
        self._stored: dict[int, tuple[Tensor, bytes, Tensor]] = {}
        """Stored forms of the truths that wait, by identity: several tasks measure the same one."""

    def rows(self, sources: Iterable[SourceRow]) -> Iterator[list[Row]]:
        """Rows in the order of the sources; never more than some batches in memory."""
        waiting: dict[tuple[Any, ...], list[tuple[int, _Checked]]] = {}
        number = size = 0
        for source in sources:
            try:
                checked = self._check(source)
            except InputError as error:
                self._reject(source, str(error))
                if not waiting:
                    self._stored.clear()
                continue
            if size >= BATCH_BYTES or len(waiting.get(checked.company, ())) >= BATCH_ROWS:
                yield self._measured(waiting)
                waiting, size = {}, 0
            waiting.setdefault(checked.company, []).append((number, checked))
            number, size = number + 1, size + checked.nbytes
        if waiting:
            yield self._measured(waiting)

    def _check(self, source: SourceRow) -> _Checked:
        cls = OPERATORS.find(source.operator)
        task = source.task or self.task or safe_id(cls.name)
        name = row_id(task, source.id)
        if problem := id_problem(name) or ("it is empty" if not source.id else None):
            raise InputError(f"{source.id}: as an id, {problem}.")
        if name in self._seen:
            raise InputError(f"{source.id}: its id belongs to an earlier one.")
        if source.signal not in (None, cls.signal):
            raise InputError(f"{source.id}: its signal is {source.signal!r} and {task} measures {cls.signal!r}.")
        truth, stored = self._as_stored(source, find_signal(cls.signal))
        shape = source.x_shape if truth is None else tuple(truth.shape)
        if shape is None or (truth is None and source.y is None):
            raise InputError(f"{source.id}: it has no truth, so its y and x_shape must be given.")
        operator = self._operator(source.operator, canonical_json(source.params), shape)
        if source.y is not None:
            check_measurement(operator, source.y.unsqueeze(0))
            if not 0 <= source.sigma < math.inf:
                raise InputError(f"{source.id}: sigma is {shorten(source.sigma)}: it must be at least 0, and finite.")
        self._seen.add(name)
        seed = item_seed(0, name) if source.seed is None else source.seed
        return _Checked(source, task, operator, seed, truth, stored)

    def _as_stored(self, source: SourceRow, signal: Signal) -> tuple[Tensor | None, bytes | None]:
        """What is measured is what is stored, so that a method is held against the x that was measured."""
        if source.truth is None:
            return None, None
        kept = self._stored.get(id(source.truth))
        if kept is None:
            if problem := signal.problem(source.truth):
                raise InputError(f"{source.id}: as a truth, {problem}.")
            content = signal.encode(source.truth)
            decoded = signal.decode(content, source.id)
            if problem := signal.problem(decoded):  # such as a value beyond the precision in which it is stored
                raise InputError(f"{source.id}: as it would be stored, {problem}.")
            kept = self._stored[id(source.truth)] = source.truth, content, decoded
        return kept[2], kept[1]

    def _measured(self, waiting: dict[tuple[Any, ...], list[tuple[int, _Checked]]]) -> list[Row]:
        self._stored.clear()
        rows: list[tuple[int, Row]] = []
        for group in waiting.values():
            numbers, own = [number for number, _ in group], [one for _, one in group]
            rows += zip(numbers, _rows(own), strict=True)
        return [row for _, row in sorted(rows, key=lambda numbered: numbered[0])]

    def _reject(self, source: SourceRow, reason: str) -> None:
        task = source.task or self.task or source.operator
        self.rejected.append(Rejected(source=source.id, tasks=[task], reason=reason))


def _rows(group: list[_Checked]) -> Iterator[Row]:
    """Rows of one task and shape, measured together."""
    made = [one for one in group if one.source.y is None]
    fresh = iter(_measure(made) if made else ())
    for one in group:
        source, y = one.source, one.source.y if one.source.y is not None else next(fresh)
        yield Row(
            source=source.id,
            task=one.task,
            truth=one.stored,
            y=y.detach().float().cpu().numpy(),
            x_shape=one.operator.x_shape,
            operator=source.operator,
            operator_params=canonical_json(one.operator.settings.model_dump(mode="json")),
            sigma=source.sigma,
            prompt=source.prompt,
            label=source.label,
            seed=one.seed,
            signal=one.operator.signal,
        )


def _measure(group: list[_Checked]) -> Tensor:
    operator = stack_operators([one.operator for one in group])
    truths = torch.stack([one.truth for one in group if one.truth is not None])
    y = measure(operator, truths, sigma=[one.source.sigma for one in group], seeds=[one.seed for one in group])
    check_measurement(operator, y)
    return y


def _build(name: str, params: str, shape: tuple[int, ...]) -> Operator:
    return build_operator(name, json.loads(params), x_shape=shape)
