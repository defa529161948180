"""G2D2 (Algorithm 1) and its Markov ablation (Algorithm 2) as one batched loop."""

import math
from collections import deque
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from g2d2.methods.base import Batch, Method
from g2d2.methods.g2d2_settings import EXPERIMENTS, PRESETS, G2D2Settings
from g2d2.methods.recording import Recorder
from g2d2.objective import iteration_counts, kl_with_gradient, misfit, schedule_weight
from g2d2.optimizers import RowOptimizer
from g2d2.priors.base import Condition, Discrete, Prior, PriorFacts, joined
from g2d2.relaxation import embed, lookup, needs_noise, relax
from g2d2.sampling import TokenSampler, draw_categorical, truncate_top_p
from operators import Operator


class G2D2(Method[G2D2Settings, Discrete]):
    """Gradient-guided discrete diffusion: a variational step on the clean tokens, then a draw of less noisy ones."""

    name = "g2d2"
    version = 1
    Settings = G2D2Settings
    prior: ClassVar[type[Prior] | None] = Discrete
    presets = PRESETS
    experiments = EXPERIMENTS
    compared = "process"
    advice = (
        "try a smaller learning_rate or eta_kl, or see that the measurement is of a signal in the range that "
        "the prior knows"
    )

    def restore(self, prior: Discrete, batch: Batch[G2D2Settings], record: Recorder) -> Tensor:
        """The mean of as many samples as are asked for."""
        samples = [self.sample(prior, batch.reseeded(index), record) for index in range(batch.shared.samples)]
        return samples[0] if len(samples) == 1 else record.mean(torch.stack(samples))

    def sample(self, prior: Discrete, batch: Batch[G2D2Settings], record: Recorder) -> Tensor:
        """Algorithm 1; `process: markov` draws z as Algorithm 2 does."""
        shared = batch.shared
        schedule = prior.schedule.with_beta(shared.beta_denominator)
        if shared.code_moves == "none":
            schedule = schedule.without_moves()
        transitions, mask = schedule.transitions(shared.steps, shared.spacing), schedule.mask_id
        record.levels += [t for t, _ in transitions]
        condition = prior.condition(
            batch.prompts, [row.guidance for row in batch.settings], batch.operator.x_shapes(len(batch))
        )
        active, gamma = condition.active, batch.vector("gamma", 3)
        sampler = TokenSampler(schedule, shared, [row.process == "markov" for row in batch.settings], batch.random)
        variational = VariationalStep(prior, batch, condition)

        z = torch.full((len(batch), prior.num_tokens), mask, device=prior.device)  # z_T
        alphas = deque[Tensor](maxlen=shared.final_steps)  # log alpha of the last steps
        for step, (t, s) in enumerate(transitions):
            with record.prior(condition.passes):
                seen = z if prior.mask_id == mask else torch.where(z == mask, prior.mask_id, z)
                log_prior = prior.log_probs(seen, t, condition, shared.prior_top_p).to(prior.dtype)
                if shared.truncation == "rounded":
                    log_prior = truncate_top_p(log_prior, shared.prior_top_p, rounded=True)
            log_alpha = gamma * log_prior + (1 - gamma) * alphas[-1] if alphas else log_prior
            log_alpha = variational.minimise(log_alpha.log_softmax(dim=1), log_prior, step, record)
            alphas.append(log_alpha)
            if shared.steps - step in record.snapshot_steps:
                record.snapshot(shared.steps - step, variational.prior_guess(log_prior, step))
                record.decoded()
            z_next = sampler.draw(log_alpha, z, s, t, step, active)
            masked, masked_next = ((tokens == mask) & (True if active is None else active) for tokens in (z, z_next))
            record.curve("remasked", (~masked & masked_next).sum(dim=1))
            record.curve("masked", masked.sum(dim=1))
            z = z_next
            record.step(step + 1, shared.steps)

        if active is not None:  # positions beyond a row's end stay masked, and a mask has no embedding
            z = z.masked_fill(~active, 0)
        embeddings, record.latent = _final_embeddings(alphas, z, prior.codebook.to(prior.dtype), shared)
        record.decoded()
        with torch.no_grad():
            return batch.operator.cropped(prior.decode(embeddings, active))

    def check(self, facts: PriorFacts | None, operator: Operator, settings: G2D2Settings, prompt: str = "") -> None:
        super().check(facts, operator, settings, prompt)
        if facts is not None and settings.guidance != 0:
            facts.check_prompt(prompt)

    def work(self, settings: G2D2Settings) -> tuple[float, ...]:
        """Calls of the prior, and of the decoder."""
        calls = settings.samples * settings.steps
        return calls, calls * settings.iterations

    def trials(self, settings: G2D2Settings) -> list[G2D2Settings]:
        steps = min(2, settings.steps)
        return [settings.model_copy(update={"steps": steps, "iterations": iterations}) for iterations in (2, 6)]


def _final_embeddings(
    alphas: Sequence[Tensor], z: Tensor, codebook: Tensor, shared: G2D2Settings
) -> tuple[Tensor, Tensor]:
    if shared.final == "sample":
        return lookup(z, codebook), z
    log_alpha = alphas[-1]
    if len(alphas) > 1:
        log_alpha = torch.stack(tuple(alphas)).logsumexp(dim=0) - math.log(len(alphas))
    best = log_alpha.argmax(dim=1)
    return (lookup(best, codebook) if shared.final == "argmax" else embed(log_alpha.exp(), codebook)), best


def _resting_residual(batch: Batch[G2D2Settings]) -> Tensor:
    """The misfit below which a row rests: so many times that of noise alone. (B,)"""
    goal = batch.vector("discrepancy", 1) * batch.sigma * batch.operator.noise_norm(batch.y)
    return goal.square() if batch.shared.likelihood == "squared" else goal


class VariationalStep:
    """Minimises eta_KL * KL(alpha || prior) + ||y - A D(alpha)|| over the logits of alpha."""

    def __init__(self, prior: Discrete, batch: Batch[G2D2Settings], condition: Condition):
        self.prior, self.batch, self.active = prior, batch, condition.active
        self.codebook = prior.codebook.to(prior.dtype)
        self.learning_rate, self.lambda_lr = batch.vector("learning_rate", 3), batch.vector("lambda_lr", 3)
        self.eta_kl, self.lambda_kl = batch.vector("eta_kl", 3), batch.vector("lambda_kl", 3)
        self.temperature = batch.vector("temperature", 3)
        shared = batch.shared
        self.iterations = iteration_counts(shared.steps, shared.iterations, shared.lambda_iterations)
        batch.random.expect("relaxation", shared.steps, max(self.iterations))
        self.goal = _resting_residual(batch) if any(row.discrepancy for row in batch.settings) else None
        self.optimizer: RowOptimizer | None = None
        size = prior.decode_rows or len(batch)
        groups = [slice(start, start + size) for start in range(0, len(batch), size)]
        self.parts = [(some, batch.operator.select(some)) for some in groups]

    def minimise(self, log_alpha: Tensor, log_prior: Tensor, step: int, record: Recorder) -> Tensor:
        """The optimised, normalised log alpha, starting from `log_alpha`. (B, K, D)"""
        shared = self.batch.shared
        endpoints = shared.weight_schedule == "endpoints"
        rate = self.learning_rate * schedule_weight(self.lambda_lr, step, shared.steps, endpoints)
        eta = self.eta_kl * schedule_weight(self.lambda_kl, step, shared.steps, endpoints)  # (B, 1, 1)
        if self.optimizer is None or shared.optimizer_memory == "step":
            self.optimizer = RowOptimizer(shared.optimizer, log_alpha)
        else:
            self.optimizer.fade_(shared.memory_kept)
        relaxation = shared.relaxation if step < shared.gumbel_share * shared.steps else "expectation"
        for iteration in range(self.iterations[step]):
            noise = self._noise(log_alpha, step, iteration) if needs_noise(relaxation) else None
            relaxed = relax(log_alpha, noise, self.temperature, self.codebook, relaxation)
            likelihood, embedding_gradient = self._misfit(relaxed.embeddings)
            gradient = relaxed.gradient(embedding_gradient)
            del relaxed, noise
            kl, kl_gradient = kl_with_gradient(log_alpha, log_prior, shared.kl_gradient == "exact", self.active)
            gradient.add_(kl_gradient.mul_(eta))
            record.decoded()
            record.curve("total", eta.flatten() * kl + likelihood)
            record.curve("likelihood", likelihood)
            record.curve("kl", kl)
            if self.goal is not None:  # what rests does so until the step ends
                rate = rate * (likelihood > self.goal).view(-1, 1, 1)
            log_alpha = self.optimizer.update_(log_alpha, gradient, rate).log_softmax(dim=1)
        return log_alpha

    def _misfit(self, embeddings: Tensor) -> tuple[Tensor, Tensor]:
        """||y - A decode(e)|| per row and its gradient by e, a few rows at a time where the prior asks for that."""
        squared = self.batch.shared.likelihood == "squared"
        values: list[Tensor] = []
        gradients: list[Tensor] = []
        for some, operator in self.parts:
            part = embeddings[some].detach().requires_grad_()
            x = operator.cropped(self.prior.decode(part, None if self.active is None else self.active[some]))
            value = misfit(operator, x, self.batch.y[some], squared)
            gradients += torch.autograd.grad(value.sum(), part)
            values.append(value.detach())
        return joined(values), joined(gradients)

    def prior_guess(self, log_prior: Tensor, step: int) -> Tensor:
        """x of a sample of the prior, by the noise the step has drawn already."""
        with torch.no_grad():
            tokens = draw_categorical(log_prior, self._noise(log_prior, step, 0))
            return self.batch.operator.cropped(self.prior.decode(lookup(tokens, self.codebook), self.active))

    def _noise(self, like: Tensor, step: int, iteration: int) -> Tensor:
        return self.batch.random.gumbel("relaxation", tuple(like.shape[1:]), step, iteration)
