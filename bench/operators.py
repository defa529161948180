"""The full-size blur as two small matrices against the dense 61x61 depthwise convolution, side by side.

On one thread the times compare the work itself, and that ratio is judged. With all threads they are
what a user waits; there a machine that is busy otherwise makes threads wait for each other, which weighs more
on the shorter of the two, so that ratio is only shown.
"""

import statistics
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from bench.registry import Effort, Ratio, stands_for
from bench.timing import take_turns
from operators import TASKS

_REPEATS = {"quick": 1, "normal": 7, "full": 7}


@stands_for(
    Ratio("dense by separable blur, one thread", "ratio", 10.0, unit="times", where={"threads": 1}, over="lowest")
)
def run(effort: Effort) -> list[dict[str, Any]]:
    """One row per number of threads, batch size and pass: milliseconds of both and their ratio."""
    try:
        return [row for count in sorted({1, effort.threads}) for row in _compare(count, _REPEATS[effort.level])]
    finally:
        torch.set_num_threads(effort.threads)


def _compare(threads: int, repeats: int) -> list[dict[str, Any]]:
    torch.set_num_threads(threads)
    op = TASKS["gaussian-deblur-256"].build().to(torch.float32)
    kernel = _dense_kernel()
    rows = []
    for batch in (1, 4):
        x = torch.rand(batch, *op.x_shape, generator=torch.Generator().manual_seed(0))
        difference = float((op(x) - _dense_blur(x, kernel)).abs().max())
        if difference > 1e-5:
            raise RuntimeError(f"the two blurs differ by {difference:.1e}: their times cannot be compared")
        for name, call in (("forward", _forward), ("forward and gradient", _forward_and_gradient)):
            seconds = take_turns(
                {
                    "dense": lambda x=x, call=call: call(lambda image: _dense_blur(image, kernel), x),
                    "separable": lambda x=x, call=call: call(op, x),
                },
                repeats,
            )
            dense, separable = (statistics.median(seconds[side]) for side in ("dense", "separable"))
            rows.append(
                {
                    "bench": "blur 61x61 at 3x256x256",
                    "threads": threads,
                    "batch": batch,
                    "pass": name,
                    "dense_ms": 1e3 * dense,
                    "separable_ms": 1e3 * separable,
                    "ratio": dense / separable,
                    "largest_difference": difference,
                }
            )
    return rows


def _dense_kernel() -> Tensor:
    """(3, 1, 61, 61): the response to a delta, so that both sides have the same weights."""
    task = TASKS["gaussian-deblur-256"]
    size = int(task.params["kernel_size"])
    delta = torch.zeros(1, 1, task.image_size, task.image_size)
    middle = task.image_size // 2
    delta[..., middle, middle] = 1
    around = slice(middle - size // 2, middle + size // 2 + 1)
    response: Tensor = task.build(channels=1)(delta)
    return response[:, :, around, around].repeat(3, 1, 1, 1)


def _dense_blur(x: Tensor, kernel: Tensor) -> Tensor:
    padded = F.pad(x, (kernel.shape[-1] // 2,) * 4, mode="reflect")
    return F.conv2d(padded, kernel, groups=kernel.shape[0])


def _forward(blur: Callable[[Tensor], Tensor], x: Tensor) -> None:
    with torch.no_grad():
        blur(x)


def _forward_and_gradient(blur: Callable[[Tensor], Tensor], x: Tensor) -> None:
    image = x.clone().requires_grad_()
    torch.autograd.grad(blur(image).square().sum(), image)
