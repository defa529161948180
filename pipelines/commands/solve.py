"""`g2d2 solve`: restore a few pictures or motions on this machine with any method, without Ray."""

import argparse
import json
import math
import sys
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, get_args

import torch
from pydantic import BaseModel
from torch import Tensor

from g2d2.choices import Precision
from g2d2.methods import METHODS, Method, MethodSettings, find_method
from g2d2.methods.tuned import tuned_settings
from g2d2.priors.clip_prompts import unknown_words
from g2d2.priors.locating import LocatedPrior, locate_prior
from operators import InputError, Operator, check_measurement, find_signal, measure, operator_settings, stack_operators
from operators.pictures import read_image, read_measurement
from pipelines.console.options import (
    Degradation,
    add_measurement_options,
    degradation,
    item_seed,
    parse_changes,
    report_refused,
    unique_stems,
)
from pipelines.console.progress import Progress, progress
from pipelines.manifest.motion_build_settings import MOTION, PATH_TASKS
from pipelines.plan.arms import SHIPPED, TUNED
from pipelines.solve.motion_inputs import add_motion_options, inputs, motion_measurement
from pipelines.solve.solved_files import Item, write_solved

EXAMPLE = "g2d2 solve photo.png --task sr4-256 --prior ithq --prompt 'a photo of a dog' --set eta_kl=0.0003 --out out/"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "images",
        nargs="*",
        type=Path,
        metavar="IMAGE",
        help="pictures, or .npy files with --measured; of motions clips",
    )
    add_measurement_options(parser, PATH_TASKS)
    add_motion_options(parser)
    parser.add_argument(
        "--method", default="g2d2", metavar="NAME", help=f"{', '.join(METHODS.names())} or module:thing (default: g2d2)"
    )
    parser.add_argument(
        "--prior",
        metavar="FOLDER_OR_NAME",
        help="folder, known name, hub id or module:thing, where the method needs one",
    )
    parser.add_argument("--measured", action="store_true", help="the inputs are measurements stored by `g2d2 measure`")
    parser.add_argument("--prompt", default="", help="text prompt for all pictures (default: empty)")
    parser.add_argument(
        "--preset",
        metavar="NAME",
        help="base of all settings: one of the method's, or tuned, fast, best or protocol, where the prior ships them "
        "(default: tuned if it does)",
    )
    parser.add_argument("--experiment", metavar="NAME", help="row of the paper's table of hyper-parameters")
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="settings of method or operator"
    )
    parser.add_argument("--batch", type=int, default=8, help="pictures solved together (default: 8)")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="torch device")
    parser.add_argument("--dtype", default="float32", choices=get_args(Precision), help="precision of the networks")
    parser.add_argument(
        "--record", nargs="+", type=int, default=[], metavar="T", help="steps t of which a snapshot is kept"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per picture")
    parser.add_argument("--again", action="store_true", help="solve again what is already there")


@dataclass(frozen=True)
class Task:
    """All that the items of one command share."""

    args: argparse.Namespace
    method: Method[Any, Any]
    settings: MethodSettings
    degrade: Degradation
    located: LocatedPrior | None
    digest: str

    def operator(self, stem: str, size: tuple[int, ...] | None) -> Operator:
        """The operator of a picture: for the prior's size, else for the picture's own."""
        shape = size if self.located is None else self.located.facts().x_shape
        assert shape is not None
        return self.degrade.build(shape, item_seed(self.args.seed, stem))


def run(args: argparse.Namespace) -> int:
    """Restores in batches; a finished picture is never solved twice, so an interrupted run goes on where it was."""
    if args.batch < 1:
        raise InputError(f"batch: {args.batch} must be at least 1.")
    stems = unique_stems(inputs(args))
    if not stems:
        raise InputError("give at least one picture; of motions, a clip or --path.")
    task = _task(args)
    steps = getattr(task.settings, "steps", 1)
    for t in args.record:
        if not 1 <= t <= steps:
            raise InputError(f"record: {t} is not a step between 1 and {steps}.")
    items, refused = _items(task, stems)
    code = report_refused("solve", refused, len(stems))
    if not items:
        return code
    _warn_of_words(task)
    done = {item.stem: record for item in items if not args.again and (record := _finished(item, args.out)) is not None}
    todo = [item for item in items if item.stem not in done]
    args.out.mkdir(parents=True, exist_ok=True)
    if done and not args.json:
        print(f"{len(done)} of {len(items)} are there already; --again solves them again", flush=True)
    for record in done.values() if args.json else ():
        _report(args, record)
    return max(code, _solve(task, todo, steps)) if todo else code


def _task(args: argparse.Namespace) -> Task:
    """What the options say together; refused before anything heavy is loaded where it could not be solved."""
    method, plain = find_method(args.method), degradation(args, {})
    models: dict[str, type[BaseModel]] = {
        method.name: method.Settings, plain.operator: operator_settings(plain.operator)
    }  # fmt: skip
    changes = parse_changes(args.set, models)
    if method.prior is not None and args.prior is None:
        raise InputError(f"prior: method {args.method!r} needs one; give --prior, such as `--prior cifar10`.")
    located = None if method.prior is None else locate_prior(args.prior)
    settings = _settings(args, method, located, changes[method.name])
    method.check_prior(None if located is None else located.facts(), settings)
    digest = "" if located is None else located.digest()
    return Task(args, method, settings, degradation(args, changes[plain.operator]), located, digest)


def _warn_of_words(task: Task) -> None:
    folder = None if task.located is None else task.located.folder
    words = [] if folder is None else unknown_words(folder, task.args.prompt)
    if words and getattr(task.settings, "guidance", 1) != 0:
        listed = ", ".join(map(repr, words))
        print(f"g2d2 solve: warning: prior {task.args.prior} never saw {listed} of the prompt.", file=sys.stderr)


def _settings(
    args: argparse.Namespace, method: Method[Any, Any], located: LocatedPrior | None, changes: dict[str, Any]
) -> MethodSettings:
    """An experiment's row is a change to a preset of the method, so naming one chooses that."""
    shipped = args.preset if args.preset in SHIPPED else TUNED
    tuned = None if located is None else tuned_settings(located.folder, method, shipped)
    usual = MOTION if args.signal == MOTION and MOTION in method.presets and not args.experiment else None
    preset = args.preset or (TUNED if tuned is not None and not args.experiment else usual)
    if preset not in SHIPPED:
        settings: MethodSettings = method.settings(preset, args.experiment, **changes)
        return settings
    if tuned is None or args.experiment:
        raise InputError(
            f"preset: {preset!r} stands alone and needs settings that ship with the prior; {str(args.prior)!r} "
            f"{'has none' if tuned is None else 'has them, but --experiment was given too'}."
        )
    return tuned.settings(method, args.task, changes)


def _items(task: Task, stems: dict[str, Path]) -> tuple[list[Item], list[InputError]]:
    """What can be restored, and why the rest cannot: a bad input costs no other."""
    items: list[Item] = []
    refused: list[InputError] = []
    for stem, path in stems.items():
        try:
            items.append(_item(task, stem, path))
        except InputError as error:
            refused.append(error)
    return items, refused


def _item(task: Task, stem: str, path: Path) -> Item:
    args, degrade, seed = task.args, task.degrade, item_seed(task.args.seed, stem)
    truth: Tensor | None = None
    if args.signal == MOTION:
        truth, y, operator = motion_measurement(path, args, degrade, seed)
    elif args.measured:
        side = degrade.image_size
        operator = task.operator(stem, None if side is None else (3, side, side))
        y = read_measurement(path, operator.y_shape)
        if degrade.own_seed and not torch.equal(operator.mask_noise(y[None])[0], y):
            raise InputError(
                f"measurement {path}: it holds pixels that its mask lacks, which follows from --seed and the file's "
                f"name; give it the seed and the name that it was measured with, or the mask's by --set seed=N."
            )
    else:
        truth = _picture(task, path)
        operator = task.operator(stem, tuple(truth.shape))
        y = measure(operator, truth.unsqueeze(0), sigma=degrade.sigma, seeds=[seed])[0]
        check_measurement(operator, y[None])
    task.method.check(None if task.located is None else task.located.facts(), operator, task.settings, args.prompt)
    decides = [
        args.method, task.method.version, task.settings.model_dump(), degrade.operator, degrade.params, degrade.sigma,
        args.prompt, task.digest, args.dtype, seed, args.record, blake2b(y.numpy().tobytes()).hexdigest(),
    ]  # fmt: skip
    key = blake2b(json.dumps(decides).encode(), digest_size=16).hexdigest()
    return Item(stem, truth, y, operator, degrade.operator, seed, args.prompt, key)


def _picture(task: Task, path: Path) -> Tensor:
    args = task.args
    size = None if task.degrade.image_size is None else (task.degrade.image_size,) * 2
    grey = False
    if task.located is not None:
        channels, height, width = task.located.facts().x_shape
        size, grey = (height, width), channels == 1
    return read_image(path, size, resize=args.resize, background=args.background, grey=grey)


def _solve(task: Task, todo: list[Item], steps: int) -> int:
    """Restore and write; 1 where a picture gave no result."""
    from g2d2.priors import load_prior  # with the model libraries, which the options do without

    args, code = task.args, 0
    prior = None
    if task.located is not None:
        prior = load_prior(args.prior, device=args.device, dtype=args.dtype, digest=task.digest)
    with progress(len(todo) * steps * getattr(task.settings, "samples", 1), "solving") as bar:
        for batch in _batches(todo, args.batch):
            solution = task.method.run(
                prior,
                stack_operators([item.operator for item in batch]),
                find_signal(batch[0].operator.signal).stack([item.y for item in batch]),
                task.settings,
                prompts=args.prompt,
                seeds=[item.seed for item in batch],
                sigma=task.degrade.sigma,
                snapshots_at=args.record,
                on_step=partial(_advance, bar, len(batch)),
            )
            for row, item in enumerate(batch):
                fault = solution.fault(row)
                if fault is None:
                    _report(args, write_solved(item, row, solution, task.degrade.sigma, args.out))
                else:
                    print(f"g2d2 solve: {item.stem}: {fault}", file=sys.stderr)
                    code = 1
    return code


def _advance(bar: Progress, rows: int, _done: int, _steps: int) -> None:
    bar.update(rows)


def _batches(items: list[Item], size: int) -> list[list[Item]]:
    """Items of one shape together, so many at a time."""
    shapes: dict[tuple[int, ...], list[Item]] = {}
    for item in items:
        shapes.setdefault(tuple(item.operator.x_shape), []).append(item)
    return [same[start : start + size] for same in shapes.values() for start in range(0, len(same), size)]


def _finished(item: Item, out: Path) -> dict[str, Any] | None:
    """The summary of a picture that is solved already; None where it is not, or was another's work."""
    try:
        record: dict[str, Any] = json.loads((out / f"{item.stem}.json").read_text())
        return record if record["key"] == item.key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _report(args: argparse.Namespace, summary: dict[str, Any]) -> None:
    if args.json:
        print(json.dumps(summary), flush=True)
        return
    quality = f"PSNR {summary['psnr']:.2f} dB  " if "psnr" in summary else ""
    if "path_error" in summary:
        feet = f"foot skating {summary['foot_skating']:.3f}  feet on floor {summary['feet_on_floor']:.3f}"
        quality = f"path error {summary['path_error']:.3f} m  {feet}  "
    ratio = summary["residual"]
    fit = f"residual {summary['residual_norm']:.2g}"
    if ratio is not None and math.isfinite(ratio):
        fit = f"residual {ratio:.2f} (1: noise alone)"
    print(f"{summary['reconstruction']}  {quality}{fit}  {summary['seconds']:.1f} s", flush=True)
