"""What `g2d2 solve --signal motion` restores: drawn or named paths, and clips of which a few frames are seen."""

import argparse
from pathlib import Path
from typing import Any

from torch import Tensor

from operators import InputError, Operator, build_operator, check_measurement, find_signal, measure, validate
from operators.registry import OPERATORS
from operators.signals.motion import SHORTEST
from operators.skeleton.joint_names import LONGEST
from pipelines.console.options import Degradation
from pipelines.manifest.clip_sources import read_clip
from pipelines.manifest.motion_build_settings import MOTION, PATH_TASKS, MotionSettings
from pipelines.manifest.motion_building import drawn_row, is_drawn, read_drawing

EMBEDDED = "cmu-motion"
"""The prior of motions that comes with the package."""
EVEN = 20
"""Key frames of a drawn path where none are asked for: evenly spread, so that the whole path is to be met."""


_OF_PICTURES, _OF_MOTIONS = ("resize", "background"), ("path", "frames", "fps")


def add_motion_options(parser: argparse.ArgumentParser) -> None:
    """What says of motions what a picture's file says of pictures."""
    parser.add_argument("--signal", choices=("image", MOTION), default="image", help="what is restored")
    parser.add_argument(
        "--path", nargs="+", default=[], metavar="NAME_OR_CSV", help="motions: paths to follow, by name (circle, s, "
        "figure-eight, square, ...) or as a CSV of x and z in metres"
    )  # fmt: skip
    parser.add_argument("--frames", type=int, metavar="N", help=f"motions: frames of paths (default: {LONGEST})")
    parser.add_argument("--fps", type=float, metavar="N", help="motions: frame rate of clips, if files do not say")


def inputs(args: argparse.Namespace) -> list[Path]:
    """Pictures, or clips and paths, of which options that say nothing are refused."""
    motion = args.signal == MOTION
    remedy = "leave it out" if motion else f"leave it out, or give --signal {MOTION} with it"
    for name in _OF_PICTURES if motion else _OF_MOTIONS:
        if getattr(args, name) not in (None, False, []):
            raise InputError(f"{name}: it says nothing about {args.signal}s; {remedy}.")
    if not motion:
        return list(args.images)
    for name, of, other in (("frames", args.path, "clips have their own"), ("fps", args.images, "paths have none")):
        if getattr(args, name) is not None and not of:
            raise InputError(f"{name}: {other}; leave it out.")
    return _as_motion(args)


def _as_motion(args: argparse.Namespace) -> list[Path]:
    """Fill in what motions have by default; the inputs."""
    if args.measured:
        raise InputError("measured: a stored measurement of a motion is a manifest's row; give --path or a clip.")
    if args.task is not None:
        if args.task not in PATH_TASKS:
            raise InputError(f"task: {args.task!r} is none of motions; choose one of {', '.join(PATH_TASKS)}.")
        args.set = [*(f"{name}={value}" for name, value in PATH_TASKS[args.task].items()), *args.set]
        args.task = None
    args.operator = args.operator or "path"
    if (measured := OPERATORS.find(args.operator).signal) != MOTION:
        raise InputError(f"operator: {args.operator} measures the signal {measured!r} and these are motions.")
    args.frames = LONGEST if args.frames is None else args.frames
    if not SHORTEST <= args.frames <= LONGEST:
        raise InputError(f"frames: {args.frames} must be from {SHORTEST} to {LONGEST}.")
    args.sigma = 0.0 if args.sigma is None else args.sigma
    args.prior = args.prior or EMBEDDED
    for path in args.path:
        if not is_drawn(path):
            read_drawing(path, args.frames)  # says which paths there are
    return [*args.images, *map(Path, args.path)]


def motion_measurement(
    path: Path, args: argparse.Namespace, degrade: Degradation, seed: int
) -> tuple[Tensor | None, Tensor, Operator]:
    """The truth where it is known, what was measured or drawn, and the operator."""
    if str(path) in args.path:
        return _drawn(str(path), args, degrade)
    truth = read_clip(str(path), args.fps)
    signal = find_signal(MOTION)
    if problem := signal.problem(truth):
        raise InputError(f"clip {path}: {problem}.")
    truth = signal.decode(signal.encode(truth), str(path))
    operator = build_operator(degrade.operator, {"seed": seed} | degrade.params, x_shape=tuple(truth.shape))
    y = measure(operator, truth.unsqueeze(0), sigma=degrade.sigma, seeds=[seed])[0]
    check_measurement(operator, y[None])
    return truth, y, operator


def _drawn(path: str, args: argparse.Namespace, degrade: Degradation) -> tuple[None, Tensor, Operator]:
    params: dict[str, Any] = degrade.params
    if not {"keyframes", "frames"} & set(params):
        step = (args.frames - 1) / (EVEN - 1)
        params = params | {"frames": sorted({round(place * step) for place in range(EVEN)})}
    settings = validate(
        MotionSettings,
        {
            "source": path,
            "operator": args.operator,
            "params": params,
            "sigma": degrade.sigma,
            "seed": args.seed,
            "frames": args.frames,
        },
        where="solve",
    )
    drawn = read_drawing(path, args.frames)
    row = drawn_row(settings, next(iter(settings.measured())), Path(path).stem, drawn, args.prompt)
    assert row.x_shape is not None
    assert row.y is not None
    return None, row.y, build_operator(row.operator, row.params, x_shape=row.x_shape)
