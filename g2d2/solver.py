"""G2D2 (Algorithm 1) and its Markov ablation (Algorithm 2) as one batched loop."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from g2d2.objective import kl_with_gradient, misfit, schedule_weight
from g2d2.optimizers import RowOptimizer
from g2d2.priors.base import Prior
from g2d2.randomness import RowRandom
from g2d2.relaxation import embed, lookup, needs_noise, relax
from g2d2.rows import Rows, gather_rows
from g2d2.sampling import TokenSampler, draw_categorical
from g2d2.settings import G2D2Settings
from g2d2.trace import Recorder, Trace
from operators import Operator


@dataclass(frozen=True)
class Reconstruction:
    """Restored images in about [-1, 1], their tokens, and what happened on the way."""

    images: Tensor  # (B, C, H, W)
    tokens: Tensor  # (B, D)
    trace: Trace

    def fault(self, row: int) -> str | None:
        """Why a row's image is no result, if it is none."""
        level = self.trace.diverged_at(row)
        if level is not None:
            return (
                f"its losses became NaN or infinite at noise level t = {level}; try a smaller learning_rate or eta_kl, "
                "or see that the measurement is of images in [-1, 1]"
            )
        if not torch.isfinite(self.images[row]).all():
            return "its reconstruction holds NaN or infinite values; try a smaller learning_rate"
        return None


def solve(
    prior: Prior,
    operator: Operator,
    y: Tensor,
    settings: G2D2Settings | Sequence[G2D2Settings],
    *,
    prompts: str | Sequence[str],
    seeds: Sequence[int],
    prior_samples_at: Collection[int] = (),
    on_step: Callable[[int, int], object] | None = None,
) -> Reconstruction:
    """Restore a batch of measurements y (B, ...); every setting in `ROW_FIELDS`, prompt and seed is free per row.

    `prior_samples_at` names steps t in T..1 at which an image of the prior's own guess is kept; `on_step` is told
    (steps done, steps in all).
    """
    rows = gather_rows(prior, operator, y, settings, prompts, seeds)
    batch, random = rows.batch, RowRandom(seeds, prior.device, prior.dtype)
    schedule = prior.schedule.with_beta(batch.beta_denominator)
    if batch.code_moves == "none":
        schedule = schedule.without_moves()
    sampler = TokenSampler(schedule, batch, rows.markov, random)
    step_optimizer = VariationalStep(prior, rows, random)
    recorder = Recorder(prior.device)
    levels = schedule.levels(batch.steps)

    z = torch.full((len(rows), prior.num_tokens), schedule.mask_id, device=prior.device)  # z_T
    log_alpha = None
    for step, (t, s) in enumerate(pairwise(levels)):
        with recorder.prior(rows.condition):
            log_prior = prior.log_probs(z, t, rows.condition, batch.prior_top_p).to(prior.dtype)
        log_alpha = log_prior if log_alpha is None else rows.gamma * log_prior + (1 - rows.gamma) * log_alpha
        log_alpha = step_optimizer.minimise(log_alpha.log_softmax(dim=1), log_prior, step, recorder)
        if batch.steps - step in prior_samples_at:
            recorder.prior_samples[batch.steps - step] = step_optimizer.prior_image(log_prior, step)
        z_next = sampler.draw(log_alpha, z, s, t, step)
        recorder.step(z, z_next, schedule.mask_id)
        z = z_next
        if on_step is not None:
            on_step(step + 1, batch.steps)

    assert log_alpha is not None
    embeddings, z = _final_embeddings(log_alpha, z, prior.codebook.to(prior.dtype), batch)
    with torch.no_grad():
        images = prior.decode(embeddings)
    return Reconstruction(images, z, recorder.finish(levels[:-1], batch.iterations))


def _final_embeddings(log_alpha: Tensor, z: Tensor, codebook: Tensor, batch: G2D2Settings) -> tuple[Tensor, Tensor]:
    if batch.final == "sample":
        return lookup(z, codebook), z
    best = log_alpha.argmax(dim=1)
    return (lookup(best, codebook) if batch.final == "argmax" else embed(log_alpha.exp(), codebook)), best


class VariationalStep:
    """Minimises eta_KL * KL(alpha || prior) + ||y - A D(alpha)|| over the logits of alpha."""

    def __init__(self, prior: Prior, rows: Rows, random: RowRandom):
        self.prior, self.rows, self.random = prior, rows, random
        self.codebook = prior.codebook.to(prior.dtype)
        self.optimizer: RowOptimizer | None = None
        size = prior.decode_rows or len(rows)
        groups = [slice(start, start + size) for start in range(0, len(rows), size)]
        self.parts = [(some, rows.operator.select(some)) for some in groups]

    def minimise(self, log_alpha: Tensor, log_prior: Tensor, step: int, recorder: Recorder) -> Tensor:
        """The optimised, normalised log alpha, starting from `log_alpha`. (B, K, D)"""
        rows, batch = self.rows, self.rows.batch
        endpoints = batch.weight_schedule == "endpoints"
        rate = rows.learning_rate * schedule_weight(rows.lambda_lr, step, batch.steps, endpoints)
        eta = rows.eta_kl * schedule_weight(rows.lambda_kl, step, batch.steps, endpoints)  # (B, 1, 1)
        if self.optimizer is None or batch.optimizer_memory == "step":
            self.optimizer = RowOptimizer(batch.optimizer, log_alpha)
        for iteration in range(batch.iterations):
            noise = self._noise(log_alpha, step, iteration) if needs_noise(batch.relaxation) else None
            relaxed = relax(log_alpha, noise, rows.temperature, self.codebook, batch.relaxation)
            likelihood, embedding_gradient = self._misfit(relaxed.embeddings)
            gradient = relaxed.gradient(embedding_gradient)
            del relaxed, noise
            kl, kl_gradient = kl_with_gradient(log_alpha, log_prior, batch.kl_gradient == "exact")
            gradient.add_(kl_gradient.mul_(eta))
            recorder.iteration(eta.flatten() * kl + likelihood, likelihood, kl)
            log_alpha = self.optimizer.update_(log_alpha, gradient, rate).log_softmax(dim=1)
        return log_alpha

    def _misfit(self, embeddings: Tensor) -> tuple[Tensor, Tensor]:
        """||y - A decode(e)|| per row and its gradient by e, a few rows at a time where the prior asks for that."""
        squared = self.rows.batch.likelihood == "squared"
        values: list[Tensor] = []
        gradients: list[Tensor] = []
        for some, operator in self.parts:
            part = embeddings[some].detach().requires_grad_()
            value = misfit(operator(self.prior.decode(part)), self.rows.y[some], squared)
            gradients += torch.autograd.grad(value.sum(), part)
            values.append(value.detach())
        return torch.cat(values), torch.cat(gradients)

    def prior_image(self, log_prior: Tensor, step: int) -> Tensor:
        """An image of a sample of the prior, by the noise the step has drawn already."""
        with torch.no_grad():
            tokens = draw_categorical(log_prior, self._noise(log_prior, step, 0))
            return self.prior.decode(lookup(tokens, self.codebook))

    def _noise(self, like: Tensor, step: int, iteration: int) -> Tensor:
        return self.random.gumbel("relaxation", tuple(like.shape[1:]), step, iteration)
