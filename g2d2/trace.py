"""What happened while solving: losses, re-masked tokens, prior samples, time and memory, per row."""

import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from g2d2.priors.base import Condition


@dataclass(frozen=True)
class Trace:
    """Records of a batch; the first axis of every tensor is the row."""

    levels: list[int]
    """Noise level t of every step."""
    total: Tensor  # (B, T, iterations)
    likelihood: Tensor  # (B, T, iterations)
    kl: Tensor  # (B, T, iterations)
    remasked: Tensor  # (B, T): tokens that went from a code back to the mask
    masked: Tensor  # (B, T): tokens masked in z_t
    prior_samples: dict[int, Tensor]
    """Images decoded from a sample of the prior given z_t, by level t. (B, C, H, W)"""
    seconds: float
    """Wall-clock seconds of the whole batch."""
    peak_bytes: int
    """Peak device memory of the batch on CUDA; peak resident memory of the process so far on CPU."""
    prior_seconds: float = 0.0
    """Those of `seconds` in which the prior's network ran."""
    prior_calls: Tensor | None = None  # (B,): passes of each row through that network; None where nobody counted
    decoder_calls: int | None = None
    """Times that each row was decoded."""

    def row_costs(self, index: int) -> dict[str, Any]:
        """A row's share of the batch: of the prior's seconds by its calls, of all others as much as any row."""
        rows, calls = len(self.total), self.prior_calls
        prior = self.prior_seconds * (1 / rows if calls is None else float(calls[index] / calls.sum()))
        return {
            "seconds": prior + (self.seconds - self.prior_seconds) / rows,
            "prior_seconds": prior,
            "prior_calls": None if calls is None else int(calls[index]),
            "decoder_calls": self.decoder_calls,
        }

    def diverged_at(self, index: int) -> int | None:
        """The level of a row's first step with a loss that is not finite."""
        finite = (
            torch.stack([self.total[index], self.likelihood[index], self.kl[index]]).isfinite().all(dim=2).all(dim=0)
        )
        return None if finite.all() else self.levels[int(finite.int().argmin())]

    def row(self, index: int) -> dict[str, Any]:
        """One row's records as NumPy arrays and numbers, with its share of the batch's costs."""
        arrays: dict[str, Any] = {
            name: getattr(self, name)[index].numpy() for name in ("total", "likelihood", "kl", "remasked", "masked")
        }
        arrays["levels"] = np.array(self.levels)
        arrays |= {name: value for name, value in self.row_costs(index).items() if value is not None}
        arrays["peak_bytes"] = self.peak_bytes
        for level, images in self.prior_samples.items():
            arrays[f"prior_sample_{level}"] = images[index].numpy()
        return arrays

    def save_row(self, index: int, path: Path) -> None:
        """One row as a compressed `.npz` file."""
        np.savez_compressed(path, **self.row(index))


@dataclass
class Recorder:
    """Collects records on the device without waiting for it; draws no random number."""

    device: torch.device
    losses: list[Tensor] = field(default_factory=list)  # each (3, B)
    tokens: list[Tensor] = field(default_factory=list)  # each (2, B)
    prior_samples: dict[int, Tensor] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)
    prior_calls: Tensor | None = None
    prior_spans: list[Callable[[], float]] = field(default_factory=list)
    """Seconds of each call of the prior, asked for when all is done."""

    def __post_init__(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)

    @contextmanager
    def prior(self, condition: Condition) -> Iterator[None]:
        """Around a call of the prior: counts the rows' passes and takes its time."""
        self.prior_calls = condition.passes if self.prior_calls is None else self.prior_calls + condition.passes
        if self.device.type == "cuda":  # the device is behind: it notes the time when it comes by
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()  # type: ignore[no-untyped-call]
            yield
            end.record()  # type: ignore[no-untyped-call]
            self.prior_spans.append(lambda: start.elapsed_time(end) / 1000)  # type: ignore[no-untyped-call]
        else:
            before = time.perf_counter()
            yield
            spent = time.perf_counter() - before
            self.prior_spans.append(lambda: spent)

    def iteration(self, total: Tensor, likelihood: Tensor, kl: Tensor) -> None:
        self.losses.append(torch.stack([total, likelihood, kl]).detach())

    def step(self, z_t: Tensor, z_s: Tensor, mask_id: int) -> None:
        masked = z_t == mask_id
        self.tokens.append(torch.stack([(~masked & (z_s == mask_id)).sum(dim=1), masked.sum(dim=1)]))

    def finish(self, levels: list[int], iterations: int) -> Trace:
        losses = (
            torch.stack(self.losses, dim=-1).unflatten(-1, (len(levels), iterations)).cpu()
        )  # (3, B, T, iterations)
        remasked, masked = torch.stack(self.tokens, dim=-1).cpu().unbind(0)
        total, likelihood, kl = losses.unbind(0)
        samples = {level: image.cpu() for level, image in self.prior_samples.items()}
        seconds = time.perf_counter() - self.started
        return Trace(
            levels, total, likelihood, kl, remasked, masked, samples, seconds, peak_bytes(self.device),
            prior_seconds=sum(span() for span in self.prior_spans),
            prior_calls=self.prior_calls,
            decoder_calls=len(self.losses) + len(self.prior_samples) + 1,  # the last is the reconstruction's
        )  # fmt: skip


def peak_bytes(device: torch.device) -> int:
    """Peak memory so far: of the device on CUDA, of the process elsewhere."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
