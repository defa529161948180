"""Ask a prior's network something whose answer is known, before hours are solved with it."""

from dataclasses import dataclass

import torch

from g2d2.priors.base import Prior

ENOUGH = 0.5
"""A prior that gives a token which is not masked less than this does not know that it may be kept."""
_ROWS = 4
_MASKED = 0.25


@dataclass(frozen=True)
class Trial:
    """What came of it."""

    kept: float
    """Mean probability of tokens that are not masked, a quarter of them being so."""

    @property
    def warning(self) -> str | None:
        """What to expect of a solver with this prior, where it is not good."""
        if self.kept >= ENOUGH:
            return None
        return (
            f"tokens that are not masked get p = {self.kept:.2g}: the network was not trained on them, as those of "
            "VQ-Diffusion are. The solver's divergence runs over every token, so gamma above 0 will undo what it found."
        )


@torch.no_grad()
def try_prior(prior: Prior, seed: int = 0) -> Trial:
    """Run the transformer once on random tokens, of which some are masked."""
    generator = torch.Generator().manual_seed(seed)
    codes, level = prior.codebook.shape[0], max(1, round(_MASKED * prior.schedule.train_steps))
    tokens = torch.randint(codes, (_ROWS, prior.num_tokens), generator=generator)
    masked = torch.rand(tokens.shape, generator=generator) < _MASKED
    z_t = torch.where(masked, prior.schedule.mask_id, tokens).to(prior.device)
    log_p = prior.log_probs(z_t, level, prior.encode_prompts([""] * _ROWS, [0.0] * _ROWS)).cpu()
    return Trial(float(log_p.gather(1, tokens[:, None])[:, 0][~masked].exp().mean()))
