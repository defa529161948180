"""The variational step of G2D2: alpha is optimised row by row, and a row that is done is decoded no more."""

import torch
from torch import Tensor

from g2d2.methods.base import Batch
from g2d2.methods.g2d2_settings import G2D2Settings
from g2d2.methods.moving_rows import Budgets, Descent, Part, Rows
from g2d2.methods.recording import Recorder
from g2d2.objective import kl_with_gradient, misfit, schedule_weight
from g2d2.optimizers import RowOptimizer
from g2d2.priors.base import Condition, Discrete, joined
from g2d2.relaxation import lookup, needs_noise, relax
from g2d2.sampling import draw_categorical

LOOK_EVERY = 8
"""Iterations after which the host asks who rests, where it has to wait for the answer."""


class VariationalStep:
    """Minimises eta_KL * KL(alpha || prior) + ||y - A D(alpha)|| over the logits of alpha."""

    def __init__(self, prior: Discrete, batch: Batch[G2D2Settings], condition: Condition):
        self.prior, self.batch, self.active = prior, batch, condition.active
        self.codebook = prior.codebook.to(prior.dtype)
        self.learning_rate, self.lambda_lr = batch.vector("learning_rate", 3), batch.vector("lambda_lr", 3)
        self.eta_kl, self.lambda_kl = batch.vector("eta_kl", 3), batch.vector("lambda_kl", 3)
        shared = batch.shared
        self.budgets = Budgets(batch.settings, batch.y.device)
        batch.random.expect("relaxation", shared.steps, max(self.budgets.most))
        goal = resting_residual(batch) if any(row.discrepancy for row in batch.settings) else None
        self.look_every = _look_every(batch.y.device) if goal is not None and not prior.static_shapes else None
        self.part = Part.whole(batch, condition.active, goal, prior.decode_rows)
        self.optimizer: RowOptimizer | None = None

    def minimise(self, log_alpha: Tensor, log_prior: Tensor, step: int, record: Recorder) -> Tensor:
        """The optimised, normalised log alpha, starting from `log_alpha`. (B, K, D)"""
        shared = self.batch.shared
        endpoints = shared.weight_schedule == "endpoints"
        rate = self.learning_rate * schedule_weight(self.lambda_lr, step, shared.steps, endpoints)
        eta = self.eta_kl * schedule_weight(self.lambda_kl, step, shared.steps, endpoints)  # (B, 1, 1)
        if self.optimizer is None or shared.optimizer_memory == "step":
            self.optimizer = RowOptimizer(shared.optimizer, log_alpha, own_counts=shared.optimizer_memory == "run")
        else:
            self.optimizer.fade_(shared.memory_kept)
        record.iterations.append(self.budgets.of_step(step))
        whole = some = Descent(self.part, log_alpha, log_prior, rate, eta, self.optimizer)
        resting: set[int] = set()
        for iteration in range(self.budgets.most[step]):
            rows = self._still(step, iteration, resting)
            if rows and rows != some.part.rows:
                whole = whole.with_rows(some)
                some = whole.only(self._part(rows))
            if rows:
                resting |= self._iterate(some, step, iteration, record)
            else:  # a curve has a point an iteration all the same
                record.repeat("total", "likelihood", "kl")
        return whole.with_rows(some).log_alpha

    def _still(self, step: int, iteration: int, resting: set[int]) -> Rows:
        """The rows that are not done; all of them where networks are compiled for that many."""
        if self.prior.static_shapes or not (self.budgets.mixed or resting):
            return self.part.rows
        return tuple(row for row in self.budgets.rows(step, iteration) if row not in resting)

    def _part(self, rows: Rows) -> Part:
        return self.part.only(rows, self.budgets.index(rows), self.batch.operator, self.prior.decode_rows)

    def _iterate(self, some: Descent, step: int, iteration: int, record: Recorder) -> set[int]:
        """One iteration of some rows. Those of them that are known to rest from now on."""
        shared, part = self.batch.shared, some.part
        if self.prior.static_shapes and self.budgets.mixed:
            moving = self.budgets.on_device[:, step] > iteration
            some.moving = moving if some.moving is None else some.moving & moving
        relaxation = shared.relaxation if step < shared.gumbel_share * shared.steps else "expectation"
        noise = self._noise(some.log_alpha, step, iteration, part.index) if needs_noise(relaxation) else None
        relaxed = relax(some.log_alpha, noise, part.temperature, self.codebook, relaxation)
        likelihood, embedding_gradient = self._misfit(relaxed.embeddings, part)
        gradient = relaxed.gradient(embedding_gradient)
        del relaxed, noise
        kl, kl_gradient = kl_with_gradient(some.log_alpha, some.log_prior, shared.kl_gradient == "exact", part.active)
        gradient.add_(kl_gradient.mul_(some.eta))
        if part.index is None:
            record.decoded()
        else:
            record.decoded_some(part.rows, of=len(self.batch))
        total = some.eta.flatten() * kl + likelihood
        for name, values in (("total", total), ("likelihood", likelihood), ("kl", kl)):
            record.curve(name, values, part.index, some.moving)
        if part.goal is None:
            some.update(gradient, some.moving)
            return set()
        above = likelihood > part.goal
        moving = above if some.moving is None else some.moving & above
        looks = self.look_every is not None and (iteration + 1) % self.look_every == 0
        rest = {row for row, moves in zip(part.rows, moving.tolist(), strict=True) if not moves} if looks else set()
        some.moving = None if looks and not rest else moving
        some.update(gradient, some.moving)
        return rest

    def _misfit(self, embeddings: Tensor, part: Part) -> tuple[Tensor, Tensor]:
        """||y - A decode(e)|| per row and its gradient by e, a few rows at a time where the prior asks for that."""
        squared = self.batch.shared.likelihood == "squared"
        values: list[Tensor] = []
        gradients: list[Tensor] = []
        for some, operator in part.groups:
            own = embeddings[some].detach().requires_grad_()
            x = operator.cropped(self.prior.decode(own, None if part.active is None else part.active[some]))
            value = misfit(operator, x, part.y[some], squared)
            gradients += torch.autograd.grad(value.sum(), own)
            values.append(value.detach())
        return joined(values), joined(gradients)

    def prior_guess(self, log_prior: Tensor, step: int) -> Tensor:
        """x of a sample of the prior, by the noise the step has drawn already."""
        with torch.no_grad():
            tokens = draw_categorical(log_prior, self._noise(log_prior, step, 0))
            return self.batch.operator.cropped(self.prior.decode(lookup(tokens, self.codebook), self.active))

    def _noise(self, like: Tensor, step: int, iteration: int, rows: Tensor | None = None) -> Tensor:
        return self.batch.random.gumbel("relaxation", tuple(like.shape[1:]), step, iteration, rows)


def resting_residual(batch: Batch[G2D2Settings]) -> Tensor:
    """The misfit below which a row rests: so many times that of noise alone. (B,)"""
    goal = batch.vector("discrepancy", 1) * batch.sigma * batch.operator.noise_norm(batch.y)
    return goal.square() if batch.shared.likelihood == "squared" else goal


def _look_every(device: torch.device) -> int | None:
    """A CPU answers at once, and what has no values never."""
    return {"cpu": 1, "meta": None}.get(device.type, LOOK_EVERY)
