"""Film strips and paths from above of a finished sweep on drawn paths: every prompt on some paths, every arm.

python examples/paper/motion/film_strips.py OUTPUT OUT.png [PATH ...]

Paths are named as in the manifest; without names, the first is shown.
"""

import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from operators import find_signal
from operators.signals.motion import key_points
from operators.skeleton.stick_figures import overview
from pipelines import Sweep

WIDTH, TITLE, GAP, FIGURES = 300, 34, 8, 9


def main(output: str, out: str, *paths: str) -> None:
    sweep, signal = Sweep.open(output), find_signal("motion")
    known = sweep.measurements()
    names = paths or list(dict.fromkeys(name.split("/")[1] for name in known))[:1]
    sheet, font = [], ImageFont.load_default(13)
    for measurement in (name for name in known if name.split("/")[1] in names):
        pictures = sweep.images(measurement)
        keys = next(key_points(one.values) for one in pictures if one.name == "measurement")
        row = []
        for one in (one for one in pictures if one.cell):
            strip = overview(signal.joints(one.values), keys, WIDTH, FIGURES)
            cell = Image.new("RGB", (WIDTH + GAP, strip.height + TITLE), "white")
            cell.paste(strip, (0, TITLE))
            scores = f"path error {one.scores['path_error']:.2f} m, skating {one.scores['foot_skating']:.3f}"
            ImageDraw.Draw(cell).text((2, 2), f"{measurement}, {one.name}\n{scores}", fill="black", font=font)
            row.append(np.asarray(cell))
        sheet.append(np.concatenate(row, axis=1))
    Image.fromarray(np.concatenate(sheet)).quantize(64, Image.Quantize.FASTOCTREE).save(out, optimize=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
