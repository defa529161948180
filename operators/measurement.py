"""Make a noisy measurement once, from seeds; check one that was stored."""

from collections.abc import Sequence

import torch
from torch import Tensor

from operators.base import Operator
from operators.errors import InputError
from operators.seeding import seeded_generator
from operators.tasks import LARGEST_SIGMA
from operators.validation import shorten


@torch.no_grad()
def measure(op: Operator, x: Tensor, *, sigma: float | Sequence[float], seeds: Sequence[int]) -> Tensor:
    """op(x) + sigma * noise, (B, *y_shape); the noise of row i depends on seeds[i] alone."""
    clean: Tensor = op(x)
    batch = clean.shape[0]
    if len(seeds) != batch:
        raise InputError(f"seeds has {len(seeds)} entries: it must have one per row, {batch}.")
    levels = _sigma_per_row(sigma, batch)
    noise = torch.stack([_draw(seed, op) for seed in seeds]) if batch else clean.new_zeros(clean.shape)
    scale = torch.tensor(levels, dtype=clean.dtype, device=clean.device)
    scaled = noise.to(clean) * scale.view(-1, *[1] * (clean.ndim - 1))
    return clean + op.mask_noise(scaled)


def check_measurement(op: Operator, y: Tensor) -> None:
    """Raise an InputError unless y is a batch of finite measurements that `op` can have made."""
    op.check_batch(y, op.y_shape, "measurement batch")
    bad = (~torch.isfinite(y)).flatten(1).sum(1)
    if bad.any():
        row = int(bad.nonzero()[0])
        raise InputError(
            f"{op.name}: y has {int(bad[row])} NaN or infinite values in row {row}: every value must be finite."
        )


def _draw(seed: int, op: Operator) -> Tensor:
    generator = seeded_generator(seed, "measurement noise")
    return torch.randn(op.y_shape, generator=generator, dtype=torch.float32)


def _sigma_per_row(sigma: float | Sequence[float], batch: int) -> list[float]:
    try:
        levels = torch.as_tensor(sigma, dtype=torch.float64)
    except (TypeError, ValueError):
        raise InputError(f"sigma is {shorten(sigma)}: it must be a number or one number per row.") from None
    if levels.ndim > 1 or (levels.ndim == 1 and len(levels) != batch):
        raise InputError(f"sigma has shape {tuple(levels.shape)}: it must be one number or one per row, {batch}.")
    if not ((levels >= 0) & (levels <= LARGEST_SIGMA)).all():
        raise InputError(f"sigma is {shorten(sigma)}: it must be finite and at least 0, and at most {LARGEST_SIGMA:g}.")
    return levels.expand(batch).tolist()
