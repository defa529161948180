"""The loop all stages share: budget, learning-rate schedule, checkpoints, resume, progress, interruption."""

import hashlib
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import torch
from tqdm import tqdm

from g2d2.training.settings import StageLimits

History = list[dict[str, float]]


class Stage(Protocol):
    """What the loop drives. A step draws from its index alone, so that a resumed run repeats it exactly."""

    name: str

    def step(self, index: int, fraction: float) -> dict[str, float]:
        """One optimisation step; returns numbers to log."""

    def report(self) -> dict[str, float]:
        """Numbers on held-out images."""

    def state(self) -> dict[str, Any]:
        """Everything a resumed run needs: tensors and plain values."""

    def load(self, state: dict[str, Any]) -> None:
        """Restore `state`."""


class Interrupted(Exception):
    """The run was asked to stop; its checkpoint is on disk."""


def cosine_lr(fraction: float, warmup: float = 0.03, floor: float = 0.02) -> float:
    """Multiplier of the peak rate: linear warm-up, then a half cosine down to `floor`."""
    if fraction < warmup:
        return (fraction + 1e-3) / (warmup + 1e-3)
    return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * (fraction - warmup) / (1 - warmup)))


def step_generator(seed: int, stage: str, index: int) -> torch.Generator:
    """A generator of its own for every step: resuming needs no generator state."""
    digest = hashlib.sha256(f"{seed}/{stage}/{index}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8]) >> 1)


def run_stage(
    stage: Stage,
    limits: StageLimits,
    folder: Path,
    on_save: Callable[[], None] | None = None,
    progress: bool | None = None,
    frozen: bool = False,
) -> History:
    """Run a stage from its checkpoint, if there is one, to the end of its budget; return its log.

    A frozen stage is restored but not trained further, whatever its budget.
    """
    path = folder / f"{stage.name}.ckpt"
    index, elapsed, history = 0, 0.0, []
    if path.exists():
        saved = torch.load(path, map_location="cpu", weights_only=True)
        stage.load(saved["stage"])
        index, elapsed, history = saved["index"], saved["elapsed"], saved["history"]
    else:
        folder.mkdir(parents=True, exist_ok=True)

    def save() -> None:
        state = {"stage": stage.state(), "index": index, "elapsed": elapsed, "history": history}
        partial = path.with_suffix(".partial")
        torch.save(state, partial)
        os.replace(partial, path)

    show = sys.stderr.isatty() if progress is None else progress
    seconds = _CLOCKS[limits.clock]
    last_save = time.monotonic()
    with _stop_requests() as stopping, tqdm(total=100, unit="%", desc=stage.name, disable=not show) as bar:
        while not frozen and (fraction := _spent(limits, index, elapsed)) < 1:
            started = seconds()
            numbers = stage.step(index, fraction)
            index += 1
            elapsed += _charge(seconds() - started, elapsed / index)
            done = _spent(limits, index, elapsed) >= 1
            if index % limits.report_every == 0 or done:
                # Reports are not charged to the budget: they must not change what is trained.
                history.append({"step": index, "seconds": elapsed, **numbers, **stage.report()})
                if not show:
                    print(_line(stage.name, history[-1], fraction), file=sys.stderr, flush=True)
            bar.n = round(100 * fraction)
            bar.set_postfix({"step": index, **{key: f"{value:.3f}" for key, value in numbers.items()}})
            if done or stopping or time.monotonic() - last_save > limits.save_every_seconds:
                save()
                last_save = time.monotonic()
                if on_save is not None and not stopping:
                    on_save()
            if stopping:
                raise Interrupted(f"{stage.name} stopped at step {index}; run the same command to go on")
    return history


def _processor_seconds() -> float:
    """Seconds that this process had the cores, as if all of torch's threads had been busy."""
    return time.process_time() / torch.get_num_threads()


_CLOCKS: dict[str, Callable[[], float]] = {"wall": time.monotonic, "processor": _processor_seconds}


def _spent(limits: StageLimits, index: int, elapsed: float) -> float:
    """Fraction of the budget used. With a cap on steps it is exact when time is not what binds."""
    spent = elapsed / (60 * limits.minutes)
    return min(1.0, max(spent, index / limits.steps) if limits.steps else spent)


def _charge(seconds: float, typical: float) -> float:
    """What a step costs the budget. A suspended machine must not make the schedule jump to its end."""
    return min(seconds, max(10.0, 10 * typical))


def _line(name: str, numbers: dict[str, float], fraction: float) -> str:
    return f"{name} {fraction:6.1%} " + " ".join(f"{key}={value:.4g}" for key, value in numbers.items())


@contextmanager
def _stop_requests() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM instead of dying in the middle of a step."""
    received: list[int] = []
    signals = (signal.SIGINT, signal.SIGTERM)
    try:
        before = {s: signal.signal(s, lambda number, _frame: received.append(number)) for s in signals}
    except ValueError:  # not the main thread: whoever owns it handles signals
        before = {}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
