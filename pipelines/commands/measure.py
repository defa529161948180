"""`g2d2 measure`: degrade pictures, or see a few points of motions, once, with a seed, and store what was measured."""

import argparse
from pathlib import Path

from torch import Tensor

from operators import InputError, check_measurement, find_signal, measure, operator_settings
from operators.pictures import read_image, to_picture, write_bytes, write_npy, write_png
from pipelines.console.options import (
    Degradation,
    add_measurement_options,
    degradation,
    item_seed,
    parse_changes,
    report_refused,
    unique_stems,
)
from pipelines.manifest.measurement_files import MEASURED, write_measurement
from pipelines.manifest.motion_build_settings import MOTION, PATH_TASKS
from pipelines.solve.motion_inputs import add_motion_options, inputs, motion_measurement

EXAMPLE = "g2d2 measure photo.png --operator gaussian_blur --set kernel_size=61 std=3.0 --sigma 0.05 --out measured/"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "images", nargs="*", type=Path, metavar="IMAGE", help="pictures to degrade; of motions clips (.npy or .bvh)"
    )
    add_measurement_options(parser, PATH_TASKS)
    add_motion_options(parser)
    parser.add_argument("--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="operator settings")
    parser.add_argument("--prompt", default="", metavar="TEXT", help="motions: a prompt that is stored beside y")
    parser.set_defaults(measured=False, prior=None)  # what a drawn path has besides when it is solved


def run(args: argparse.Namespace) -> int:
    """Writes NAME-measurement.npy (float32, as measured), a .png of it to look at, and of motions the row as .json."""
    if args.prompt and args.signal != MOTION:
        raise InputError("prompt: what is stored of pictures has none; leave it out, or give --signal motion.")
    stems = unique_stems(inputs(args))
    if not stems:
        raise InputError("give at least one picture; of motions, a clip or --path.")
    plain = degradation(args, {})
    changes = parse_changes(args.set, {plain.operator: operator_settings(plain.operator)})
    chosen = degradation(args, changes[plain.operator])
    args.out.mkdir(parents=True, exist_ok=True)
    write = _write_motion if args.signal == MOTION else _write_picture
    refused: list[InputError] = []
    for stem, path in stems.items():
        try:
            print(write(args, chosen, stem, path))
        except InputError as error:
            refused.append(error)
    return report_refused("measure", refused, len(stems))


def _write_picture(args: argparse.Namespace, chosen: Degradation, stem: str, path: Path) -> str:
    """The line that says what was measured of a picture."""
    y = _measured(args, chosen, stem, path)
    stored = args.out / f"{stem}{MEASURED}.npy"
    write_npy(y, stored)
    write_png(to_picture(y), stored.with_suffix(".png"))
    return f"{stored}  {chosen.operator}  {y.shape[2]}x{y.shape[1]}  sigma {chosen.sigma:g}"


def _measured(args: argparse.Namespace, chosen: Degradation, stem: str, path: Path) -> Tensor:
    """What is measured of a picture, (C, h, w)."""
    size = (chosen.image_size, chosen.image_size) if chosen.image_size else None
    image = read_image(path, size, resize=args.resize, background=args.background)
    seed = item_seed(args.seed, stem)
    operator = chosen.build((image.shape[0], image.shape[1], image.shape[2]), seed)
    y = measure(operator, image.unsqueeze(0), sigma=chosen.sigma, seeds=[seed])
    check_measurement(operator, y)
    return y[0]


def _write_motion(args: argparse.Namespace, chosen: Degradation, stem: str, path: Path) -> str:
    """The line that says what was measured of a clip, or is wanted by a drawn path."""
    seed = item_seed(args.seed, stem)
    _, y, operator = motion_measurement(path, args, chosen, seed)
    stored = write_measurement(
        stem, y, operator, called=chosen.operator, sigma=chosen.sigma, seed=seed, prompt=args.prompt, out=args.out
    )
    if preview := find_signal(MOTION).preview_measurement(y):
        write_bytes(preview, stored.with_suffix(".png"))
    shape = "x".join(map(str, y.shape))
    return f"{stored}  {chosen.operator}  {shape} of {operator.x_shape[0]} frames  sigma {chosen.sigma:g}"
