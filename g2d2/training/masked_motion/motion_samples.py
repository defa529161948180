"""Motions that a masked prior makes of prompts alone, with nothing measured."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from g2d2.priors.base import Discrete
from g2d2.randomness import RowRandom
from g2d2.relaxation import lookup
from g2d2.sampling import draw_categorical
from g2d2.transitions import log_markov_marginal


@torch.no_grad()
def sample_motions(
    prior: Discrete,
    prompts: Sequence[str],
    frames: Sequence[int],
    seeds: Sequence[int],
    steps: int = 25,
    guidance: float = 1.0,
) -> Tensor:
    """Features of one motion per prompt by the prior's own noise process; zeros beyond a row's frames. (B, F, 263)"""
    random = RowRandom(seeds, prior.device, prior.dtype)
    condition = prior.condition(prompts, [guidance] * len(prompts), [(own, prior.x_shape[1]) for own in frames])
    schedule = prior.schedule
    z = torch.full((len(prompts), prior.num_tokens), schedule.mask_id, device=prior.device)
    for step, (t, s) in enumerate(pairwise(schedule.levels(steps))):
        seen = torch.where(z == schedule.mask_id, prior.mask_id, z)
        log_p = prior.log_probs(seen, t, condition)  # (B, K, D)
        noise = random.gumbel("samples", (log_p.shape[1] + 1, log_p.shape[2]), step)
        z = draw_categorical(log_markov_marginal(log_p, z, schedule, s, t), noise)
    x = prior.decode(lookup(z, prior.codebook.to(prior.dtype)), condition.active)
    own = torch.arange(x.shape[1], device=x.device) < torch.tensor(list(frames), device=x.device)[:, None]
    return x * own.unsqueeze(-1)
