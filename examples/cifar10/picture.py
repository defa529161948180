"""The picture of the README, from a finished sweep: the first held-out photograph of every class, nothing chosen.

g2d2 sweep examples/cifar10/star-against-markov.yaml
python examples/cifar10/picture.py out/cifar10/star-against-markov docs/figures/star-against-markov.png
"""

import io
import json
import sys
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from operators.pictures import encode_png, to_picture
from pipelines.manifest import Manifest, measurement, read_row
from pipelines.storage.sweep_folder import SweepFolder

SIDE, GAP, MARGIN, TITLE = 64, 6, 90, 26
TASKS = {"gaussian-deblur-32": "deblurring", "sr4-32": "4x super-resolution"}
COLUMNS = ["measurement", "task", "settings", "image", "manifest_shard", "manifest_row"]


def main(sweep: str, out: str) -> None:
    folder = SweepFolder(sweep)
    manifest = Manifest.open(folder.read_summary()["specification"]["manifest"])
    found = solved(folder)
    names = first_of_each_class(measurement for _, measurement in found)
    font = ImageFont.load_default(15)
    sheet = Image.new("RGB", (MARGIN + len(names) * (SIDE + GAP), len(TASKS) * (TITLE + 4 * (SIDE + GAP))), "white")
    draw, top = ImageDraw.Draw(sheet), 0
    for task, title in TASKS.items():
        draw.text((MARGIN, top + 4), title, fill="black", font=font)
        top += TITLE
        columns = [column(manifest, found[task, f"{task}/{name}"]) for name in names]
        for row, label in enumerate(("truth", "measured", "Markov", "star")):
            draw.text((6, top + SIDE // 2 - 9), label, fill="black", font=font)
            for place, pictures in enumerate(columns):
                sheet.paste(pictures[row], (MARGIN + place * (SIDE + GAP), top))
            top += SIDE + GAP
    sheet.save(out, optimize=True)


def solved(folder: SweepFolder) -> dict[tuple[str, str], dict[str, dict[str, Any]]]:
    """Solved rows by task and measurement, then by process."""
    found: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for shard in folder.solved_shards():
        for row in folder.read_solved(shard, columns=COLUMNS).to_pylist():
            process = json.loads(row["settings"])["process"]
            found.setdefault((row["task"], row["measurement"]), {})[process] = row
    return found


def first_of_each_class(measurements: Any) -> list[str]:
    names = sorted({measurement.rpartition("/")[2] for measurement in measurements})
    return list({name.rpartition("-")[0]: name for name in reversed(names)}.values())[::-1]


def column(manifest: Manifest, rows: dict[str, dict[str, Any]]) -> list[Image.Image]:
    place = rows["star"]["manifest_shard"], rows["star"]["manifest_row"]
    measured = read_row(manifest.fetch([place]), 0)
    y = encode_png(to_picture(measurement(measured)))
    return [enlarged(data) for data in (measured["truth"], y, rows["markov"]["image"], rows["star"]["image"])]


def enlarged(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB").resize((SIDE, SIDE), Image.Resampling.NEAREST)


if __name__ == "__main__":
    main(*sys.argv[1:])
