"""Layers that give a row the same bits on a CPU whether it runs alone or among others.

Torch convolves one small image by another algorithm than several where the kernel has several pixels, and multiplies
few rows by another than more; either rounds differently, which a thousand steps amplify. A lone image is therefore
given to the algorithm of several, and few rows are multiplied in company. Attention leaves its image in another order
of memory, which with one row looks like the usual one, and so chooses other algorithms for what follows. With 16 rows
and more the algorithms change again: batches are split before. What remains: functions of single elements round the
last few of a tensor in another way, so that the elements of a row must be a multiple of 32, as they are in all
networks but toys.
"""

from typing import Any

import torch
from diffusers.models.attention_processor import Attention
from torch import Tensor, nn

from operators.few_rows import ENOUGH_ROWS, in_company

CPU_ROWS = 8
"""Rows that networks take at once on a CPU."""

_LONE_IMAGE = 20480
"""Elements up to which torch convolves a lone image by another algorithm."""


class SteadyConv2d(nn.Conv2d):
    """Convolves a small lone image as it would one of several; kernels of one pixel round alike anyhow."""

    _mirrored: tuple[Any, Tensor] | None = None

    def forward(self, input: Tensor) -> Tensor:
        if input.shape[1:].numel() > _LONE_IMAGE or self.kernel_size == (1, 1):
            return super().forward(input)
        plain = self.padding_mode == "zeros" and not isinstance(self.padding, str) and not self.weight.requires_grad
        named = torch.backends.mkldnn.is_available() and not torch.compiler.is_compiling()
        if plain and named and input.dtype == torch.float32:
            placed = (self.padding, self.stride, self.dilation, self.groups)
            mirror = self._mirror() if torch.is_grad_enabled() and input.requires_grad else None
            output: Tensor = _SmallConv2d.apply(input, self.weight, self.bias, mirror, placed)  # type: ignore[no-untyped-call]
            return output
        return super().forward(input) if len(input) > 1 else super().forward(input.expand(2, *input.shape[1:]))[:1]

    def _mirror(self) -> Tensor | None:
        """The kernel whose convolution is the gradient; none where images change their size."""
        if self.stride != (1, 1) or self.groups > 1 or isinstance(self.padding, str):
            return None
        placed = zip(self.padding, self.dilation, self.kernel_size, strict=True)
        if any(2 * pad != step * (size - 1) for pad, step, size in placed):
            return None
        state = (self.weight.data_ptr(), self.weight._version)
        if self._mirrored is None or self._mirrored[0] != state:
            self._mirrored = (state, self.weight.detach().flip(2, 3).transpose(0, 1).contiguous())
        return self._mirrored[1]


class _SmallConv2d(torch.autograd.Function):
    """The algorithm that several images take, called by name; its gradient by itself, or by that of a pair."""

    @staticmethod
    def forward(  # type: ignore[override]
        context: Any, images: Tensor, weight: Tensor, bias: Tensor | None, mirror: Tensor | None, placed: Any
    ) -> Tensor:
        context.save_for_backward(images, weight, mirror)
        context.placed = placed
        output: Tensor = torch.mkldnn_convolution(images, weight, bias, *placed)
        return output

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        images, weight, mirror = context.saved_tensors
        by_images = None
        if context.needs_input_grad[0] and mirror is not None:
            by_images = torch.mkldnn_convolution(gradient, mirror, None, *context.placed)
        elif context.needs_input_grad[0]:
            rows = max(2, len(images))
            padding, stride, dilation, groups = context.placed
            by_images, _, _ = torch.ops.aten.convolution_backward(
                *(tensor.expand(rows, *tensor.shape[1:]) for tensor in (gradient, images)),
                *(weight, None, stride, padding, dilation, False, (0, 0), groups, (True, False, False)),
            )
            by_images = by_images[: len(images)]
        return (by_images, *[None] * 4)  # networks are frozen


class SteadyLinear(nn.Linear):
    """Multiplies a few rows as if they were 16, and rows in whatever order of memory as if in the usual one."""

    def forward(self, input: Tensor) -> Tensor:
        rows = input.shape[:-1].numel()
        if rows >= ENOUGH_ROWS or rows == 0:
            return super().forward(input.contiguous())
        return super().forward(in_company(input.reshape(rows, -1)))[:rows].reshape(*input.shape[:-1], -1)


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
