"""Which rows of a batch a variational step still optimises, and what is theirs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from g2d2.methods.base import Batch
from g2d2.methods.g2d2_settings import G2D2Settings
from g2d2.objective import iteration_counts
from g2d2.optimizers import RowOptimizer
from operators import Operator

Rows = tuple[int, ...]
"""Places in a batch, in order."""


class Budgets:
    """Iterations of every row in every step; known on the host, so that rows leave without asking a device."""

    def __init__(self, settings: Sequence[G2D2Settings], device: torch.device):
        shared, self.device = settings[0], device
        by_iterations = {
            iterations: iteration_counts(shared.steps, iterations, shared.lambda_iterations)
            for iterations in {row.iterations for row in settings}
        }
        self.counts = [by_iterations[row.iterations] for row in settings]  # by row, then by step
        self.most = [max(step) for step in zip(*self.counts, strict=True)]
        self.mixed = len(by_iterations) > 1
        self._indices: dict[Rows, Tensor] = {}
        if self.mixed:  # all at once: what is brought in the middle of the work makes a device wait
            sets = {self.rows(step, at) for step, most in enumerate(self.most) for at in range(most)}
            parts = sorted(sets, key=len)
            flat = _brought([row for part in parts for row in part], device)
            self._indices = dict(zip(parts, flat.split([len(part) for part in parts]), strict=True))
            self.on_device = _brought(self.counts, device)  # (B, steps)

    def rows(self, step: int, iteration: int) -> Rows:
        """Those that have so many iterations in this step."""
        return tuple(row for row, counts in enumerate(self.counts) if counts[step] > iteration)

    def of_step(self, step: int) -> list[int]:
        """Iterations of each row."""
        return [counts[step] for counts in self.counts]

    def index(self, rows: Rows) -> Tensor:
        """The places on the device; those that budgets alone decide are there already."""
        return self._indices[rows] if rows in self._indices else _brought(rows, self.device)


def _brought(values: Sequence[Any], device: torch.device) -> Tensor:
    """Whole numbers on the device. A GPU copies them from pinned memory while the host goes on."""
    return torch.tensor(values, pin_memory=device.type == "cuda").to(device, non_blocking=True)


@dataclass(frozen=True)
class Part:
    """Some rows of a batch, in groups that are decoded at once."""

    rows: Rows
    index: Tensor | None  # (M,), on the device; None: all rows
    y: Tensor  # (M, *y_shape)
    temperature: Tensor  # (M, 1, 1)
    active: Tensor | None  # (M, D)
    goal: Tensor | None  # (M,): the misfit below which a row rests
    groups: list[tuple[slice, Operator]]

    @classmethod
    def whole(cls, batch: Batch[G2D2Settings], active: Tensor | None, goal: Tensor | None, size: int | None) -> "Part":
        temperature = batch.vector("temperature", 3)
        groups = _groups(batch.operator, len(batch), size)
        return cls(tuple(range(len(batch))), None, batch.y, temperature, active, goal, groups)

    def only(self, rows: Rows, index: Tensor, operator: Operator, size: int | None) -> "Part":
        """Of the whole batch, these rows."""
        active, goal = (None if part is None else part[index] for part in (self.active, self.goal))
        groups = _groups(operator.pick(rows, index), len(rows), size)
        return Part(rows, index, self.y[index], self.temperature[index], active, goal, groups)


def _groups(operator: Operator, count: int, size: int | None) -> list[tuple[slice, Operator]]:
    size = size or count
    slices = [slice(start, start + size) for start in range(0, count, size)]
    return [(some, operator.select(some)) for some in slices]


@dataclass
class Descent:
    """What a step has made of some rows so far, and what it goes by."""

    part: Part
    log_alpha: Tensor  # (M, K, D)
    log_prior: Tensor  # (M, K, D)
    rate: Tensor  # (M, 1, 1)
    eta: Tensor  # (M, 1, 1)
    optimizer: RowOptimizer
    moving: Tensor | None = None  # (M,), bool: False for rows among these that rest; None: none does

    def only(self, part: Part) -> "Descent":
        """Of the whole batch, the rows of a part."""
        assert part.index is not None  # a part of it
        tensors = (self.log_alpha, self.log_prior, self.rate, self.eta)
        log_alpha, log_prior, rate, eta = (tensor[part.index] for tensor in tensors)
        moving = None if self.moving is None else self.moving[part.index]
        return Descent(part, log_alpha, log_prior, rate, eta, self.optimizer.select(part.index), moving)

    def with_rows(self, some: "Descent") -> "Descent":
        """The whole batch with what was made of some of its rows."""
        index, moving = some.part.index, None
        if index is None:
            return some
        self.optimizer.put_(index, some.optimizer)
        if some.moving is not None:
            everywhere = torch.ones(len(self.log_alpha), dtype=torch.bool, device=index.device)
            moving = everywhere.index_copy(0, index, some.moving)
        return replace(self, log_alpha=self.log_alpha.index_copy(0, index, some.log_alpha), moving=moving)

    def update(self, gradient: Tensor, moving: Tensor | None) -> None:
        """One step of the rows that move; of the others nothing does, their moments neither."""
        if moving is None:
            self.log_alpha = self.optimizer.update_(self.log_alpha, gradient, self.rate).log_softmax(dim=1)
            return
        moving = moving.view(-1, 1, 1)
        moved = self.optimizer.update_(self.log_alpha.clone(), gradient, self.rate, moving).log_softmax(dim=1)
        self.log_alpha = torch.where(moving, moved, self.log_alpha)
