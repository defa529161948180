"""Random numbers that belong to a row: a pure function of (seed, stream, step, iteration, position).

Torch's generators are sequential: one draw more and every later draw changes, and a CUDA generator's output depends
on the launch grid and so on the GPU model. Here each number is a hash of its own coordinates. A row draws the same
numbers alone or in any batch, in any order, on any device, and nothing that is recorded on the way can disturb it.
"""

import math
from collections.abc import Sequence
from hashlib import blake2b

import torch
from torch import Tensor

_MULTIPLIERS = (0x7FEB352D, 0x846CA68B)  # of Wellons' 32-bit mixer "lowbias32"


def row_key(seed: int, stream: str, step: int = 0, iteration: int = 0) -> tuple[int, int]:
    """Two signed 32-bit words that key one row's block of numbers."""
    text = f"{seed}/{stream}/{step}/{iteration}".encode()
    digest = blake2b(text, digest_size=8).digest()
    return tuple(int.from_bytes(half, "little", signed=True) for half in (digest[:4], digest[4:]))  # type: ignore[return-value]


class RowRandom:
    """The draws of a batch, each row from its own seed."""

    def __init__(self, seeds: Sequence[int], device: torch.device | str, dtype: torch.dtype = torch.float32):
        self.seeds = [int(seed) for seed in seeds]
        self.device = torch.device(device)
        self.dtype = dtype
        self._counters: dict[int, Tensor] = {}
        self._expected: dict[str, Tensor] = {}  # by stream, (steps, iterations, B, 2)

    def expect(self, stream: str, steps: int, iterations: int = 1) -> None:
        """Bring the keys of so many draws to the device at once; a draw whose keys are not there brings its own.

        What is brought in the middle of the work makes a GPU wait for the host.
        """
        blocks = [[self._rows(stream, step, iteration) for iteration in range(iterations)] for step in range(steps)]
        self._expected[stream] = torch.tensor(blocks, dtype=torch.int32).to(self.device)

    def uniform(
        self, stream: str, shape: tuple[int, ...], step: int = 0, iteration: int = 0, rows: Tensor | None = None
    ) -> Tensor:
        """Numbers in (0, 1), shape (B, *shape); of some `rows` (M,) alone, (M, *shape)."""
        return self._unit((stream,), int(torch.Size(shape).numel()), step, iteration, rows).view(-1, *shape)

    def gumbel(
        self, stream: str, shape: tuple[int, ...], step: int = 0, iteration: int = 0, rows: Tensor | None = None
    ) -> Tensor:
        """Standard Gumbel numbers, shape (B, *shape); of some `rows` (M,) alone, (M, *shape)."""
        # A large Gumbel number comes from a small uniform one, where precision is full.
        return self.uniform(stream, shape, step, iteration, rows).neg_().log1p_().neg_().log_().neg_()

    def normal(self, stream: str, shape: tuple[int, ...], step: int = 0, iteration: int = 0) -> Tensor:
        """Standard normal numbers by Box and Muller from two uniform streams, shape (B, *shape)."""
        size = int(torch.Size(shape).numel())
        units = self._unit((f"{stream}/radius", f"{stream}/angle"), -(-size // 2), step, iteration)
        radius, angle = units.chunk(2)  # (B, half) each
        radius = radius.log_().mul_(-2).sqrt_()
        angle = angle.mul_(2 * math.pi)
        pairs = torch.cat([angle.cos().mul_(radius), angle.sin_().mul_(radius)], dim=1)  # (B, size or size + 1)
        return pairs[:, :size].reshape(-1, *shape)

    def _unit(
        self, streams: tuple[str, ...], size: int, step: int, iteration: int, rows: Tensor | None = None
    ) -> Tensor:
        """Numbers in (0, 1) of all rows in one stream after the other, (streams * B, size); of one, some rows'."""
        keys = self._keys(streams, step, iteration)
        low, high = (keys if rows is None else keys[rows]).view(-1, 2, 1).unbind(1)  # (streams * B, 1)
        bits = _mix(self._counter(size) ^ low)
        bits = _mix(bits.add_(high))
        # 31 bits, so that the smallest numbers keep float32's full relative precision.
        unit = bits.bitwise_and_(0x7FFFFFFF).to(self.dtype).add_(0.5).mul_(2.0**-31)
        return unit.clamp_(max=1 - 2.0**-24)

    def _keys(self, streams: tuple[str, ...], step: int, iteration: int) -> Tensor:
        """(streams * B, 2)"""
        if len(streams) == 1 and streams[0] in self._expected:
            return self._expected[streams[0]][step, iteration]
        rows = [row for stream in streams for row in self._rows(stream, step, iteration)]
        return torch.tensor(rows, dtype=torch.int32).to(self.device)

    def _rows(self, stream: str, step: int, iteration: int) -> list[tuple[int, int]]:
        return [row_key(seed, stream, step, iteration) for seed in self.seeds]

    def _counter(self, size: int) -> Tensor:
        if size not in self._counters:
            self._counters[size] = torch.arange(size, dtype=torch.int32, device=self.device).unsqueeze(0)
        return self._counters[size]


def _mix(bits: Tensor) -> Tensor:
    """Wellons' 32-bit integer mixer, in place; every output bit depends on every input bit."""
    for shift, multiplier in zip((16, 15), _MULTIPLIERS, strict=True):
        bits.bitwise_xor_(_logical_shift(bits, shift))
        bits.mul_(multiplier if multiplier < 2**31 else multiplier - 2**32)
    return bits.bitwise_xor_(_logical_shift(bits, 16))


def _logical_shift(bits: Tensor, shift: int) -> Tensor:
    return (bits >> shift).bitwise_and_((1 << (32 - shift)) - 1)
