"""What `g2d2 solve` writes of one result: a picture beside its measurement, or a motion as film strip and GIF."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from eval.metrics import Scored, build_metric
from eval.pairing import PANEL
from g2d2.methods import Solution
from operators import Operator, find_signal
from operators.pictures import encode_png, panel, spread_map, write_bytes, write_npy, write_png
from operators.signals.motion import Motion, key_points
from operators.skeleton.stick_figures import overview
from pipelines.manifest.measurement_files import MEASURED, write_measurement
from pipelines.solve.committing import trace_bytes

MOTION_METRICS = ("path_error", "location_error_50cm", "trajectory_error_50cm", "foot_skating", "feet_on_floor")
"""Skating says nothing without the share of frames with a foot on the floor."""
_WIDTH, _FIGURES = 768, 12
"""Of a motion's film strip."""


@dataclass(frozen=True)
class Item:
    """One measurement to restore."""

    stem: str
    truth: Tensor | None
    y: Tensor
    operator: Operator
    measured_by: str
    """The operator's name as it was asked for."""
    seed: int
    prompt: str
    key: str
    """Digest of everything that decides the result."""


def write_solved(item: Item, row: int, solution: Solution, sigma: float, out: Path) -> dict[str, Any]:
    """The result and all that shows it, then the summary that marks it as done."""
    signal = find_signal(item.operator.signal)
    stored = signal.encode(solution.x[row, : item.operator.x_shape[0]] if signal.ragged else solution.x[row])
    x = signal.decode(stored, item.stem)  # numbers are those of what is kept, as in a sweep
    if isinstance(signal, Motion):
        own = _write_motion(item, signal, x, out)
        # whoever scores it later must know y and the prompt
        write_measurement(
            item.stem, item.y, item.operator, called=item.measured_by, sigma=sigma, seed=item.seed, prompt=item.prompt,
            out=out,
        )  # fmt: skip
    else:
        own = _write_picture(item, stored, x, solution, row, out)
        write_npy(item.y, out / f"{item.stem}{MEASURED}.npy")
    write_bytes(trace_bytes(solution.record(row)), out / f"{item.stem}-trace.npz")
    scored = Scored(
        None, x.unsqueeze(0), operator=item.operator, y=item.y.unsqueeze(0), sigma=torch.tensor([sigma]),
        signal=signal.name,
    )  # fmt: skip
    ratio, norm = (float(build_metric(name)(scored)[0]) for name in ("residual", "residual_norm"))  # as in a sweep
    summary: dict[str, Any] = {
        "image": item.stem,
        "residual": ratio if math.isfinite(ratio) else None,
        "residual_norm": norm,
        "seconds": solution.costs(row)["seconds"],
        "key": item.key,
        **own,
    }
    write_bytes(json.dumps(summary, indent=1).encode(), out / f"{item.stem}.json")
    return summary


def _write_picture(
    item: Item, stored: bytes, x: Tensor, solution: Solution, row: int, out: Path
) -> dict[str, str | float]:
    write_bytes(stored, out / f"{item.stem}.png")
    facts: dict[str, str | float] = {"reconstruction": str(out / f"{item.stem}.png")}
    shown = ([] if item.truth is None else [item.truth]) + [item.y, x]
    write_png(panel(shown), out / f"{item.stem}{PANEL}.png")
    snapshots = [batch[row] for _, batch in sorted(solution.snapshots.items(), reverse=True)]
    if snapshots:
        write_png(panel(snapshots), out / f"{item.stem}-snapshots.png")
    if solution.spread is not None:
        spread = solution.spread[row].float()
        write_png(panel([x, spread_map(spread)]), out / f"{item.stem}-spread.png")
        facts["spread"] = float(spread.mean()) / 2  # on [0, 1]
    if item.truth is not None:
        error = (x - item.truth).square().mean() / 4  # both on [0, 1]
        facts["psnr"] = float(-10 * torch.log10(error))
    return facts


def _write_motion(item: Item, signal: Motion, x: Tensor, out: Path) -> dict[str, str | float]:
    """Features, film strip above the path with its key points, and an animation; of a known truth the film strip."""
    keys = key_points(item.y)
    write_npy(x, out / f"{item.stem}.npy")
    for name, clip in ((item.stem, x), (f"{item.stem}-truth", item.truth)):
        if clip is not None:
            write_bytes(encode_png(overview(signal.joints(clip), keys, _WIDTH, _FIGURES)), out / f"{name}.png")
    write_bytes(signal.animation(x, item.y), out / f"{item.stem}.gif")
    scored = Scored(None, x.unsqueeze(0), operator=item.operator, y=item.y.unsqueeze(0), signal=signal.name)
    numbers = {name: float(build_metric(name)(scored)[0]) for name in MOTION_METRICS}
    return {"reconstruction": str(out / f"{item.stem}.png"), **numbers}
