"""What a method leaves behind: x, named curves, snapshots, time and memory, per row."""

import resource
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Solution:
    """Restored signals of a batch and what happened on the way; the first axis of every tensor is the row."""

    x: Tensor  # (B, *x_shape)
    seconds: float = 0.0
    """Wall-clock seconds of the whole batch."""
    peak_bytes: int = 0
    """Peak device memory of the batch on CUDA; peak resident memory of the process so far on CPU."""
    curves: dict[str, Tensor] = field(default_factory=dict)
    """By name, (B, n): one number per step, or per iteration of every step; a row that was done has its last again."""
    levels: list[int] = field(default_factory=list)
    """Noise level t of every step, where the method has steps."""
    iterations: Tensor | None = None  # (B, steps): those of each row in each step, where the method has such
    snapshots: dict[int, Tensor] = field(default_factory=dict)
    """By step t, (B, *x_shape)."""
    latent: Tensor | None = None
    """What x was decoded from, such as tokens (B, D); None where there is nothing of the kind."""
    spread: Tensor | None = None
    """Standard deviation of the samples whose mean x is, (B, *x_shape); None of a single one."""
    prior_seconds: float = 0.0
    """Those of `seconds` in which the prior's network ran."""
    prior_calls: Tensor | None = None  # (B,): passes of each row through that network; None where nobody counted
    decoder_calls: int | Tensor | None = None
    """Times that each row was decoded, (B,) on the CPU where they differ; None where nobody counted."""
    advice: str = ""
    """What to try where a row diverged."""
    signal: str = "image"
    """What x is, by its registry name."""

    def first(self, rows: int) -> "Solution":
        """The first rows alone; the others only filled up their batch, whose costs are these rows'."""
        return replace(
            self,
            x=self.x[:rows],
            curves={name: curve[:rows] for name, curve in self.curves.items()},
            snapshots={step: x[:rows] for step, x in self.snapshots.items()},
            latent=None if self.latent is None else self.latent[:rows],
            spread=None if self.spread is None else self.spread[:rows],
            iterations=None if self.iterations is None else self.iterations[:rows],
            prior_calls=None if self.prior_calls is None else self.prior_calls[:rows],
            decoder_calls=self.decoder_calls[:rows] if isinstance(self.decoder_calls, Tensor) else self.decoder_calls,
        )

    def costs(self, row: int) -> dict[str, Any]:
        """A row's share of the batch: of the prior's seconds by its calls, of all others by those of the decoder."""
        prior = self.prior_seconds * self._share(self.prior_calls, row)
        rest = (self.seconds - self.prior_seconds) * self._share(self.decoder_calls, row)
        return {
            "seconds": prior + rest,
            "prior_seconds": prior,
            "prior_calls": _of_row(self.prior_calls, row),
            "decoder_calls": _of_row(self.decoder_calls, row),
        }

    def _share(self, calls: int | Tensor | None, row: int) -> float:
        """A row's part of all calls; as large as any other's where they are not told apart."""
        counted = isinstance(calls, Tensor) and bool(calls.sum())
        return float(calls[row] / calls.sum()) if counted else 1 / len(self.x)  # type: ignore[index,union-attr]

    def fault(self, row: int) -> str | None:
        """Why a row's x is no result, if it is none."""
        advice = f"; {self.advice}" if self.advice else ""
        steps = [
            self._steps(curve.shape[1])[where]
            for curve in self.curves.values()
            if (where := _first_bad(curve[row])) >= 0
        ]
        if steps and self.levels:
            return f"its losses became NaN or infinite at noise level t = {self.levels[min(steps)]}{advice}"
        if steps or not torch.isfinite(self.x[row]).all():
            return f"its reconstruction holds NaN or infinite values{advice}"
        return None

    def _steps(self, points: int) -> list[int]:
        """The step of every point of a curve."""
        steps = max(1, len(self.levels))
        if self.iterations is None or points == steps:
            return [place * steps // points for place in range(points)]
        return [step for step, most in enumerate(self.iterations.amax(dim=0).tolist()) for _ in range(most)]

    def _own_points(self, curve: Tensor, row: int) -> Tensor:
        """A row's curve without the iterations that only others of its batch have."""
        if self.iterations is None or curve.shape[1] == len(self.levels):
            return curve[row]
        most, own = self.iterations.amax(dim=0).tolist(), self.iterations[row].tolist()
        parts = zip(curve[row].split(most), own, strict=True)
        return torch.cat([part[:count] for part, count in parts])

    def record(self, row: int, own: slice = slice(None)) -> dict[str, Any]:
        """One row's curves, snapshots and costs as NumPy arrays and numbers; `own` is its part of a padded snapshot."""
        arrays: dict[str, Any] = {name: self._own_points(curve, row).numpy() for name, curve in self.curves.items()}
        if self.levels:
            arrays["levels"] = np.array(self.levels)
        if self.iterations is not None and self.iterations[row].unique().numel() > 1:
            arrays["iterations"] = self.iterations[row].numpy()
        arrays |= {name: value for name, value in self.costs(row).items() if value is not None}
        arrays["peak_bytes"] = self.peak_bytes
        if self.spread is not None:
            arrays["spread"] = self.spread[row][own].numpy()
        return arrays | {f"snapshot_{step}": x[row][own].numpy() for step, x in self.snapshots.items()}

    def _repr_html_(self) -> str:
        from g2d2.methods.solution_pictures import solution_html  # only notebooks ask

        return str(solution_html(self))

    def _repr_png_(self) -> bytes:
        from g2d2.methods.solution_pictures import solution_png

        return solution_png(self)


def _of_row(calls: int | Tensor | None, row: int) -> int | None:
    return int(calls[row]) if isinstance(calls, Tensor) else calls


def _first_bad(values: Tensor) -> int:
    """Place of the first value that is not finite; -1 where all are."""
    bad = ~torch.isfinite(values)
    return int(bad.int().argmax()) if bad.any() else -1


@dataclass
class Recorder:
    """Collects on the device without waiting for it, and draws no random number."""

    device: torch.device
    snapshot_steps: Collection[int] = ()
    """Steps t at which the method is asked for a snapshot."""
    on_step: Callable[[int, int], object] | None = None
    """Told (steps done, steps in all)."""
    levels: list[int] = field(default_factory=list)
    iterations: list[list[int]] = field(default_factory=list)
    """Of each step, those of each row; of methods whose steps have iterations."""
    latent: Tensor | None = None
    spread: Tensor | None = None
    decoder_calls: int | Tensor | None = None
    _curves: dict[str, list[Tensor]] = field(default_factory=dict)
    _snapshots: dict[int, Tensor] = field(default_factory=dict)
    _started: float = field(default_factory=time.perf_counter)
    _calls: Tensor | None = None
    _spans: list[Callable[[], float]] = field(default_factory=list)
    """Seconds of each call of the prior, asked for when all is done."""

    def __post_init__(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)

    def curve(self, name: str, values: Tensor, rows: Tensor | None = None, moving: Tensor | None = None) -> None:
        """One more point of a curve (B,), or of some rows (M,) where they move; others have their last point again."""
        points, values = self._curves.setdefault(name, []), values.detach()
        if points and moving is not None:
            values = torch.where(moving, values, points[-1] if rows is None else points[-1][rows])
        points.append(values if rows is None else points[-1].index_copy(0, rows, values))

    def repeat(self, *names: str) -> None:
        """The last points of curves once more."""
        for name in names:
            self._curves[name].append(self._curves[name][-1])

    def snapshot(self, step: int, x: Tensor) -> None:
        self._snapshots[step] = x.detach()

    def mean(self, samples: Tensor) -> Tensor:
        """The mean of samples (S, B, *x_shape), whose spread is kept. (B, *x_shape)"""
        self.spread = samples.std(dim=0)
        return samples.mean(dim=0)

    def decoded(self, times: int | Tensor = 1) -> None:
        """Every row was decoded once more, or as often as `times` (B,), on the CPU, says of it."""
        self.decoder_calls = times if self.decoder_calls is None else self.decoder_calls + times

    def decoded_some(self, rows: Sequence[int], of: int) -> None:
        """Some rows of so many were decoded once more."""
        times = torch.zeros(of, dtype=torch.int64)
        times[list(rows)] = 1
        self.decoded(times)

    def step(self, done: int, steps: int) -> None:
        if self.on_step is not None:
            self.on_step(done, steps)

    @contextmanager
    def prior(self, passes: Tensor) -> Iterator[None]:
        """Around a call of the prior's network: counts the rows' passes (B,), on the CPU, and takes its time."""
        self._calls = passes if self._calls is None else self._calls + passes
        if self.device.type == "cuda":  # the device is behind: it notes the time when it comes by
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()  # type: ignore[no-untyped-call]
            yield
            end.record()  # type: ignore[no-untyped-call]
            self._spans.append(lambda: start.elapsed_time(end) / 1000)  # type: ignore[no-untyped-call]
        else:
            before = time.perf_counter()
            yield
            spent = time.perf_counter() - before
            self._spans.append(lambda: spent)

    def finish(self, x: Tensor, advice: str = "", signal: str = "image") -> Solution:
        """Everything on the CPU; the one place that waits for the device."""
        curves = {name: torch.stack(points, dim=1).cpu() for name, points in self._curves.items()}
        snapshots = {step: snapshot.cpu() for step, snapshot in self._snapshots.items()}
        latent = None if self.latent is None else self.latent.cpu()
        spread = None if self.spread is None else self.spread.detach().cpu()
        x = x.detach().cpu()
        return Solution(
            x=x,
            seconds=time.perf_counter() - self._started,
            peak_bytes=peak_bytes(self.device),
            curves=curves,
            levels=self.levels,
            iterations=torch.tensor(self.iterations).T if self.iterations else None,
            snapshots=snapshots,
            latent=latent,
            spread=spread,
            prior_seconds=sum(span() for span in self._spans),
            prior_calls=self._calls,
            decoder_calls=self.decoder_calls,
            advice=advice,
            signal=signal,
        )


def peak_bytes(device: torch.device) -> int:
    """Peak memory so far: of the device on CUDA, of the process elsewhere."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
