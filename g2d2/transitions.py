"""The two noise processes, marginalised in closed form over a categorical alpha on z_0.

Everything is in log space and linear in the number of codes K: no K x K matrix is built. Tensors put codes before
tokens, as the prior does: log_alpha is (B, K, D), a distribution over z_s is (B, K + 1, D) with the mask last.
"""

import math

import torch
from torch import Tensor

from g2d2.schedule import NoiseSchedule


def log_star_marginal(log_alpha: Tensor, schedule: NoiseSchedule, s: int) -> Tensor:
    """log sum_{z_0} q(z_s | z_0) alpha(z_0): the star process forgets z_t (Eq. 7 of the paper). (B, K + 1, D)"""
    keep, move, mask = schedule.between(0, s)
    codes = _log_mix(log_alpha, keep, move)
    return torch.cat([codes, torch.full_like(codes[:, :1], _log(mask))], dim=1)


def log_markov_marginal(log_alpha: Tensor, z_t: Tensor, schedule: NoiseSchedule, s: int, t: int) -> Tensor:
    """log sum_{z_0} q(z_s | z_t, z_0) alpha(z_0) for any s < t (Algorithm 2 of the paper). (B, K + 1, D)"""
    masked = (z_t == schedule.mask_id).unsqueeze(1)  # (B, 1, D)
    return torch.where(
        masked,
        _log_from_mask(log_alpha, schedule, s, t),
        _log_from_code(log_alpha, z_t.clamp(max=schedule.num_codes - 1), schedule, s, t),
    )


def _log_from_mask(log_alpha: Tensor, schedule: NoiseSchedule, s: int, t: int) -> Tensor:
    """z_t = mask says nothing of z_0: alpha noised to level s, times the chance to be masked between s and t."""
    keep, move, mask = schedule.between(0, s)
    mask_t, newly_masked = schedule.between(0, t).gamma, schedule.between(s, t).gamma
    codes = _log_mix(log_alpha, keep, move) + _log(newly_masked / mask_t)
    return torch.cat([codes, torch.full_like(codes[:, :1], _log(mask / mask_t))], dim=1)


def _log_from_code(log_alpha: Tensor, z_t: Tensor, schedule: NoiseSchedule, s: int, t: int) -> Tensor:
    """z_t = i: Bayes' rule per z_0, then the sum over z_0. An unmasked token was never masked before."""
    never = torch.full_like(log_alpha[:, :1], -math.inf)
    index = z_t.unsqueeze(1)  # (B, 1, D)
    keep_t, move_t, _ = schedule.between(0, t)
    if move_t == 0:  # without moves between codes an unmasked token is the clean one, whatever alpha says
        stay = torch.full_like(log_alpha, -math.inf).scatter_(1, index, 0.0)
        return torch.cat([stay, never], dim=1)
    log_evidence = torch.full_like(log_alpha, _log(move_t)).scatter_(1, index, _log(keep_t + move_t))
    log_ratio = log_alpha - log_evidence  # alpha(z_0) / q(z_t | z_0)
    log_total = log_ratio.logsumexp(dim=1, keepdim=True)
    keep_s, move_s, _ = schedule.between(0, s)
    log_at_s = torch.logaddexp(log_ratio + _log(keep_s), log_total + _log(move_s))
    step = schedule.between(s, t)
    log_step = torch.full_like(log_alpha, _log(step.beta)).scatter_(1, index, _log(step.alpha + step.beta))
    return torch.cat([log_at_s + log_step, never], dim=1)


def _log_mix(log_alpha: Tensor, keep: float, move: float) -> Tensor:
    """log(keep * alpha + move)."""
    if move == 0:
        return log_alpha + _log(keep)
    return torch.logaddexp(log_alpha + _log(keep), torch.full_like(log_alpha, math.log(move)))


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0 else -math.inf
