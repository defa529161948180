"""`g2d2 measure`: degrade pictures once, with a seed, and store what was measured."""

import argparse
from pathlib import Path

from torch import Tensor

from operators import InputError, check_measurement, measure, operator_settings
from operators.pictures import read_image, to_picture, write_npy, write_png
from pipelines.console.options import (
    Degradation,
    add_measurement_options,
    degradation,
    item_seed,
    parse_changes,
    report_refused,
    unique_stems,
)

EXAMPLE = "g2d2 measure photo.png --operator gaussian_blur --set kernel_size=61 std=3.0 --sigma 0.05 --out measured/"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("images", nargs="+", type=Path, metavar="IMAGE", help="pictures to degrade")
    add_measurement_options(parser)
    parser.add_argument("--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="operator settings")


def run(args: argparse.Namespace) -> int:
    """Writes NAME-measurement.npy (float32, C x h x w, as measured) and NAME-measurement.png to look at."""
    stems = unique_stems(args.images)
    plain = degradation(args, {})
    changes = parse_changes(args.set, {plain.operator: operator_settings(plain.operator)})
    chosen = degradation(args, changes[plain.operator])
    args.out.mkdir(parents=True, exist_ok=True)
    refused: list[InputError] = []
    for stem, path in stems.items():
        try:
            y = _measured(args, chosen, stem, path)
        except InputError as error:
            refused.append(error)
            continue
        stored = args.out / f"{stem}-measurement.npy"
        write_npy(y, stored)
        write_png(to_picture(y), stored.with_suffix(".png"))
        print(f"{stored}  {chosen.operator}  {y.shape[2]}x{y.shape[1]}  sigma {chosen.sigma:g}")
    return report_refused("measure", refused, len(stems))


def _measured(args: argparse.Namespace, chosen: Degradation, stem: str, path: Path) -> Tensor:
    """What is measured of a picture, (C, h, w)."""
    size = (chosen.image_size, chosen.image_size) if chosen.image_size else None
    image = read_image(path, size, resize=args.resize, background=args.background)
    seed = item_seed(args.seed, stem)
    operator = chosen.build((image.shape[0], image.shape[1], image.shape[2]), seed)
    y = measure(operator, image.unsqueeze(0), sigma=chosen.sigma, seeds=[seed])
    check_measurement(operator, y)
    return y[0]
