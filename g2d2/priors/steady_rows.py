"""Layers that give a row the same bits on a CPU whether it runs alone or among others.

Torch convolves one small image by another algorithm than several where the kernel has several pixels, and multiplies
fewer than four rows by another than more; either rounds differently, which a thousand steps amplify. A lone image is
therefore given to the algorithm of several, and its few rows are multiplied with more. Attention leaves its image in
another order of memory, which with one row looks like the usual one, and so chooses other algorithms for what
follows. With 16 rows and more the algorithms change again: batches are split before. What remains: functions of
single elements round the last few of a tensor in another way, so that the elements of a row must be a multiple of 32,
as they are in all networks but toys.
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
    """Convolves a small lone image as it would one of several; kernels of one pixel round alike anyhow."""

    def forward(self, input: Tensor) -> Tensor:
        if len(input) > 1 or input.numel() > _LONE_IMAGE or self.kernel_size == (1, 1):
            return super().forward(input)
        if input.dtype == torch.float32 and torch.backends.mkldnn.is_available() and self.padding_mode == "zeros":
            output: Tensor = _LoneConv2d.apply(  # type: ignore[no-untyped-call]
                input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
            )
            return output
        return super().forward(input.expand(2, *input.shape[1:]))[:1]


class _LoneConv2d(torch.autograd.Function):
    """The algorithm that several images take, called by name for one; its gradient is that of one of a pair."""

    @staticmethod
    def forward(  # type: ignore[override]
        context: Any, image: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, *rest: Any
    ) -> Tensor:
        context.save_for_backward(image, weight)
        context.placed = (stride, padding, *rest)
        output: Tensor = torch.mkldnn_convolution(image, weight, bias, padding, stride, *rest)
        return output

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        image, weight = (tensor for tensor in context.saved_tensors)
        stride, padding, dilation, groups = context.placed
        pair = (tensor.expand(2, *tensor.shape[1:]) for tensor in (gradient, image))
        wanted = (context.needs_input_grad[0], False, False)  # networks are frozen
        by_image, _, _ = torch.ops.aten.convolution_backward(
            *pair, weight, None, stride, padding, dilation, False, (0, 0), groups, wanted
        )
        return (by_image[:1] if wanted[0] else None, *[None] * 6)


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
