"""The full-size blur as two small matrices against the dense 61x61 depthwise convolution, side by side.

On one thread the times compare the work itself, and the ratio must be at least 10. With all threads they are
what a user waits; there a machine that is busy otherwise makes threads wait for each other, which weighs more
on the shorter of the two, so that ratio is shown and not judged.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from operators import TASKS

REPEATS = 7
LEAST_RATIO = 10.0


def run() -> list[dict[str, Any]]:
    """One row per number of threads, batch size and pass: milliseconds of both and their ratio."""
    threads = torch.get_num_threads()
    try:
        return [row for count in sorted({1, threads}) for row in _compare(count)]
    finally:
        torch.set_num_threads(threads)


def _compare(threads: int) -> list[dict[str, Any]]:
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
            dense, separable = _side_by_side(
                lambda x=x, call=call: call(lambda image: _dense_blur(image, kernel), x),
                lambda x=x, call=call: call(op, x),
            )
            rows.append(
                {
                    "bench": "blur 61x61 at 3x256x256",
                    "threads": threads,
                    "batch": batch,
                    "pass": name,
                    "dense_ms": 1e3 * dense,
                    "separable_ms": 1e3 * separable,
                    "ratio": dense / separable,
                    "at_least": LEAST_RATIO if threads == 1 else None,
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


def _side_by_side(*calls: Callable[[], None]) -> list[float]:
    """Median seconds of each; the calls take turns so that a busy machine slows all of them alike."""
    times: list[list[float]] = [[] for _ in calls]
    for repeat in range(REPEATS + 1):
        for call, seconds in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            if repeat:  # the first turn warms up
                seconds.append(time.perf_counter() - start)
    return [statistics.median(seconds) for seconds in times]
