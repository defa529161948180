"""Layers that give a row the same bits on a CPU whether it runs alone or among others.

Torch convolves one small image by another algorithm than several, and multiplies fewer than four rows by another than
more; either rounds differently, which a thousand steps amplify. Only such layers take a few rows more here, so that a
lone row costs little more than it must. Attention leaves its image in another order of memory, which with one row looks
like the usual one, and so chooses other algorithms for what follows. With 16 rows and more the algorithms change again:
batches are split before. What remains: functions of single elements round the last few of a tensor in another way, so
that the elements of a row must be a multiple of 32, as they are in all networks but toys.
"""

from typing import Any

import torch
from diffusers.models.attention_processor import Attention
from torch import Tensor, nn

CPU_ROWS = 8
"""Rows that networks take at once on a CPU."""

_LONE_IMAGE = 20480
"""Elements up to which torch convolves a lone image by another algorithm."""
_LEAST_ROWS = 4


class SteadyConv2d(nn.Conv2d):
    """Convolves a small lone image as one of a pair."""

    def forward(self, input: Tensor) -> Tensor:
        if len(input) > 1 or input.numel() > _LONE_IMAGE:
            return super().forward(input)
        return super().forward(input.expand(2, *input.shape[1:]))[:1]


class SteadyLinear(nn.Linear):
    """Multiplies a few rows as if they were four."""

    def forward(self, input: Tensor) -> Tensor:
        rows = input.shape[:-1].numel()
        if rows >= _LEAST_ROWS or rows == 0:
            return super().forward(input)
        flat = input.reshape(rows, -1)
        padded = torch.cat([flat, flat[:1].detach().expand(_LEAST_ROWS - rows, -1)])
        return super().forward(padded)[:rows].reshape(*input.shape[:-1], -1)


class SteadyAttention(Attention):  # type: ignore[misc]
    """Gives images in the usual order of memory."""

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        output: Tensor = super().forward(*args, **kwargs)
        return output.contiguous()


_STEADY: dict[type[nn.Module], type[nn.Module]] = {
    nn.Conv2d: SteadyConv2d,
    nn.Linear: SteadyLinear,
    Attention: SteadyAttention,
}


def steady(network: nn.Module) -> None:
    """Make the layers of a network steady, in place; weights and their names stay."""
    for module in network.modules():
        if type(module) in _STEADY:
            module.__class__ = _STEADY[type(module)]
