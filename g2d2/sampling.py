"""Drawing z_s after a variational step: the one place where star and Markov differ."""

import torch
from torch import Tensor

from g2d2.methods.g2d2_settings import G2D2Settings
from g2d2.randomness import RowRandom
from g2d2.schedule import NoiseSchedule
from g2d2.transitions import log_markov_marginal, log_star_marginal

LOG_FLOOR = -70.0
"""Log-probability that stands for zero, as in VQ-Diffusion."""


def truncate_top_p(log_probs: Tensor, top_p: float, rounded: bool = False) -> Tensor:
    """Keep the likeliest codes up to cumulative probability top_p (always one), floor the rest. (B, K, D)

    `rounded` goes by the running sum in float32, which reaches 1 before the last code: it cuts at top_p = 1 too.
    """
    if top_p >= 1 and not rounded:
        return log_probs
    ordered, order = log_probs.sort(dim=1, descending=True)
    mass = ordered.exp()
    if rounded:
        kept = (mass.float().cumsum(dim=1) < top_p).roll(1, dims=1)
        kept[:, 0] = True
    else:
        kept = mass.cumsum(dim=1) - mass < top_p  # what lies before a code decides, so the first one always stays
    return log_probs.masked_fill(~torch.zeros_like(kept).scatter_(1, order, kept), LOG_FLOOR)


def draw_categorical(log_probs: Tensor, noise: Tensor) -> Tensor:
    """One token per position by the Gumbel-max rule. (B, D)"""
    return (log_probs + noise).argmax(dim=1)


class TokenSampler:
    """Draws z_s from the optimised alpha, row by row with the row's own process."""

    def __init__(self, schedule: NoiseSchedule, batch: G2D2Settings, markov: list[bool], random: RowRandom):
        self.schedule = schedule
        self.remasking, self.temperature = batch.remasking, batch.remasking_temperature
        self.top_p, self.rounded = batch.top_p, batch.truncation == "rounded"
        self.random = random
        random.expect("tokens", batch.steps)
        if batch.remasking != "independent":
            random.expect("masks", batch.steps)
        self.any_star, self.any_markov = not all(markov), any(markov)
        self.is_markov = torch.tensor(markov, device=random.device).unsqueeze(1)  # (B, 1)

    def draw(self, log_alpha: Tensor, z_t: Tensor, s: int, t: int, step: int, active: Tensor | None = None) -> Tensor:
        """z_s given alpha and z_t; tokens that are not `active` stay as they are. (B, D)"""
        z_s = self._draw(log_alpha, z_t, s, t, step, active)
        return z_s if active is None else torch.where(active, z_s, z_t)

    def _draw(self, log_alpha: Tensor, z_t: Tensor, s: int, t: int, step: int, active: Tensor | None) -> Tensor:
        noise = self.random.gumbel("tokens", (log_alpha.shape[1] + 1, log_alpha.shape[2]), step)
        star = self._draw_star(log_alpha, noise, s, step, active) if self.any_star else z_t
        if not self.any_markov:
            return star
        markov = draw_categorical(log_markov_marginal(log_alpha, z_t, self.schedule, s, t), noise)
        return torch.where(self.is_markov, markov, star)

    def _draw_star(self, log_alpha: Tensor, noise: Tensor, s: int, step: int, active: Tensor | None) -> Tensor:
        log_alpha = truncate_top_p(log_alpha, self.top_p, self.rounded)
        if self.remasking == "independent":
            return draw_categorical(log_star_marginal(log_alpha, self.schedule, s), noise)
        z_0 = draw_categorical(log_alpha, noise[:, :-1])
        cumulative = self.schedule.between(0, s)
        share = cumulative.gamma - cumulative.beta
        if self.remasking == "exact-count":
            order_by = self.random.uniform("masks", (z_0.shape[1],), step)
        else:
            order_by = log_alpha.amax(dim=1)  # certainty of the optimised posterior
            if self.temperature > 0:
                order_by = order_by + self.temperature * share * self.random.gumbel("masks", (z_0.shape[1],), step)
        if active is None:
            count = int(z_0.shape[1] * share)
            return z_0.scatter(1, order_by.argsort(dim=1, stable=True)[:, :count], self.schedule.mask_id)
        rank = order_by.masked_fill(~active, torch.inf).argsort(dim=1, stable=True).argsort(dim=1)
        counts = (active.sum(dim=1, keepdim=True) * share).int()  # (B, 1): rows have lengths of their own
        return torch.where(rank < counts, self.schedule.mask_id, z_0)
