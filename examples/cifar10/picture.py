"""Truth, measurement and every arm of a finished sweep: the first held-out photograph of every class, nothing chosen.

g2d2 sweep examples/cifar10/star-against-markov.yaml
python examples/cifar10/picture.py out/cifar10/star-against-markov docs/figures/star-against-markov.png
"""

import io
import sys
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from operators.pictures import encode_png, to_picture
from pipelines.manifest import Manifest, measurement, read_row
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage.sweep_folder import SweepFolder

SIDE, GAP, MARGIN, TITLE = 64, 6, 90, 26
TASKS = {"gaussian-deblur-32": "deblurring", "sr4-32": "4x super-resolution"}
COLUMNS = ["measurement", "cell", "seed", "x", "manifest_shard", "manifest_row"]


def main(sweep: str, out: str) -> None:
    stored = StoredSweep.read(SweepFolder(sweep))
    manifest = Manifest.open(stored.spec.manifest)
    shown = {task: best_cells(stored, task) for task in TASKS}
    rows = solved(stored, {cell for cells in shown.values() for cell in cells.values()})
    names = first_of_each_class(measurement for measurement, _ in rows)
    labels = ["truth", "measured", *next(iter(shown.values()))]
    font = ImageFont.load_default(15)
    height = len(TASKS) * (TITLE + len(labels) * (SIDE + GAP))
    sheet = Image.new("RGB", (MARGIN + len(names) * (SIDE + GAP), height), "white")
    draw, top = ImageDraw.Draw(sheet), 0
    for task, title in TASKS.items():
        draw.text((MARGIN, top + 4), title, fill="black", font=font)
        top += TITLE
        columns = [column(manifest, [rows[f"{task}/{name}", cell] for cell in shown[task].values()]) for name in names]
        for row, label in enumerate(labels):
            draw.text((6, top + SIDE // 2 - 9), label, fill="black", font=font)
            for place, pictures in enumerate(columns):
                sheet.paste(pictures[row], (MARGIN + place * (SIDE + GAP), top))
            top += SIDE + GAP
    sheet.save(out, optimize=True)


def best_cells(sweep: StoredSweep, task: str) -> dict[str, str]:
    """Of every arm the cell with the best first metric in a task; most arms have only one."""
    metric = sweep.record.judged[0]
    arms = dict.fromkeys(cell.arm for cell in sweep.plan.cells)  # in the specification's order
    best = {arm: sweep.record.best_of(task, metric, arm) for arm in arms}
    return {arm: cell.id for arm, cell in best.items() if cell is not None}


def solved(sweep: StoredSweep, cells: set[str]) -> dict[tuple[str, str], dict[str, Any]]:
    """Solved rows of these cells by measurement and cell, at the first seed."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for shard in sorted({shard.name for shard in sweep.plan.shards}):
        for row in sweep.folder.read_solved(shard, columns=COLUMNS).to_pylist():
            if row["cell"] in cells and row["seed"] == sweep.spec.seeds[0]:
                rows[row["measurement"], row["cell"]] = row
    return rows


def first_of_each_class(measurements: Any) -> list[str]:
    names = sorted({measurement.rpartition("/")[2] for measurement in measurements})
    return list({name.rpartition("-")[0]: name for name in reversed(names)}.values())[::-1]


def column(manifest: Manifest, rows: list[dict[str, Any]]) -> list[Image.Image]:
    """Truth, measurement and reconstructions of one photograph; black where a row failed."""
    measured = read_row(manifest.fetch([(rows[0]["manifest_shard"], rows[0]["manifest_row"])]), 0)
    y = encode_png(to_picture(measurement(measured)))
    return [enlarged(data) for data in (measured["truth"], y, *(row["x"] for row in rows))]


def enlarged(data: bytes | None) -> Image.Image:
    picture = Image.new("RGB", (1, 1)) if data is None else Image.open(io.BytesIO(data)).convert("RGB")
    return picture.resize((SIDE, SIDE), Image.Resampling.NEAREST)


if __name__ == "__main__":
    main(*sys.argv[1:])
