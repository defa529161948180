"""Ask a prior's network something whose answer is known, before hours are solved with it."""

from dataclasses import dataclass

import torch

from g2d2.priors.base import Diffusion, Discrete, Prior
from operators import InputError

ENOUGH = 0.5
"""A prior that gives a token which is not masked less than this does not know that it may be kept; a denoiser that
misses more of the noise on a grey image does not recognise it."""
_ROWS = 4
_MASKED = 0.25
_SIGNAL = 0.7
"""alpha_bar at which a denoiser is asked: with less signal, one that knows nothing of v would be nearly right."""


@dataclass(frozen=True)
class Trial:
    """How a network answered."""

    words: str
    """In numbers."""
    warning: str | None = None
    """What to expect of a method with this prior, where it is not good."""


def try_prior(prior: Prior, seed: int = 0) -> Trial:
    """Run the network once on what it must know."""
    if isinstance(prior, Discrete):
        return _try_tokens(prior, seed)
    if isinstance(prior, Diffusion):
        return _try_noise(prior, seed)
    raise InputError(f"run: there is nothing to ask a prior of kind {type(prior).__name__}; leave it out.")


@torch.no_grad()
def _try_tokens(prior: Discrete, seed: int) -> Trial:
    """Random tokens, of which some are masked: the others must stay."""
    generator = torch.Generator().manual_seed(seed)
    codes, level = prior.codebook.shape[0], max(1, round(_MASKED * prior.schedule.train_steps))
    tokens = torch.randint(codes, (_ROWS, prior.num_tokens), generator=generator)
    masked = torch.rand(tokens.shape, generator=generator) < _MASKED
    z_t = torch.where(masked, prior.mask_id, tokens).to(prior.device)
    log_p = prior.log_probs(z_t, level, prior.condition([""] * _ROWS, [0.0] * _ROWS)).cpu()
    kept = float(log_p.gather(1, tokens[:, None])[:, 0][~masked].exp().mean())
    if kept >= ENOUGH:
        return Trial(f"tokens that are not masked are kept with p = {kept:.3f}")
    warning = (
        f"tokens that are not masked get p = {kept:.2g}: the network was not trained on them, as those of "
        "VQ-Diffusion are. G2D2's divergence runs over every token, so gamma above 0 will undo its work."
    )
    return Trial(f"p = {kept:.3f}", warning)


@torch.no_grad()
def _try_noise(prior: Diffusion, seed: int) -> Trial:
    """A grey image with noise: the network must say that it is noise."""
    noise = torch.randn((_ROWS, *prior.z_shape), generator=torch.Generator().manual_seed(seed))
    noise = noise.to(prior.device, prior.dtype)
    prompts, level = ["0" if _has_classes(prior) else ""] * _ROWS, int((prior.alpha_bar - _SIGNAL).abs().argmin())
    z_t = noise * float(1 - prior.alpha_bar[level]) ** 0.5
    eps = prior.denoise(z_t, level, prior.condition(prompts, [1.0] * _ROWS)).eps
    error = float((eps - noise).norm() / noise.norm())
    if error <= ENOUGH:  # NaN is no answer either
        return Trial(f"noise on a grey image is recognised to within {error:.3f} of its size")
    warning = (
        f"noise on a grey image is missed by {error:.2g} of its size: the network does not fit this scheduler, its "
        "weights are damaged, or it was not trained; methods will not restore anything with it."
    )
    return Trial(f"error {error:.3f}", warning)


def _has_classes(prior: Diffusion) -> bool:
    try:
        prior.condition([""], [1.0])
    except InputError:
        return True
    return False
