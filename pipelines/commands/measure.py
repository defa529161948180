"""`g2d2 measure`: degrade pictures once, with a seed, and store what was measured."""

import argparse
from pathlib import Path

from operators import measure, operator_settings
from pipelines.images import read_image, to_picture, write_npy, write_png
from pipelines.options import add_measurement_options, degradation, item_seed, parse_changes, unique_stems

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
    size = (chosen.image_size, chosen.image_size) if chosen.image_size else None
    args.out.mkdir(parents=True, exist_ok=True)
    for stem, path in stems.items():
        image = read_image(path, size, args.resize)
        operator = chosen.build((image.shape[0], image.shape[1], image.shape[2]))
        y = measure(operator, image.unsqueeze(0), sigma=chosen.sigma, seeds=[item_seed(args.seed, stem)])[0]
        write_npy(y, args.out / f"{stem}-measurement.npy")
        write_png(to_picture(y), args.out / f"{stem}-measurement.png")
        shape = "x".join(str(side) for side in y.shape)
        print(f"{args.out / f'{stem}-measurement.npy'}  {chosen.operator}  {shape}  sigma {chosen.sigma:g}")
    return 0
