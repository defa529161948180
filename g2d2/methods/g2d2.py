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
from g2d2.methods.variational_step import VariationalStep
from g2d2.priors.base import Discrete, Prior, PriorFacts, network_passes
from g2d2.relaxation import embed, lookup
from g2d2.sampling import TokenSampler, truncate_top_p
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
        """Passes through the prior, and calls of the decoder."""
        calls = settings.samples * settings.steps
        return calls * network_passes(settings.guidance), calls * settings.iterations

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
