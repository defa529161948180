"""How large the report of a large sweep is, and how soon a browser has drawn it.

Scores are made up and pictures are noise, as many and as large as a page may hold; what is measured is the page alone.
Seconds end when every chart of the page is drawn; `thread_seconds` are those in which the page's own thread computed,
which other work on the machine does not lengthen. Without Chromium neither is measured.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image

from bench.registry import Effort, Ratio, stands_for
from eval.record import SweepRecord
from eval.report import Facts, Pictures, Report, render_page
from eval.report.content import Other
from eval.report.shown_cells import picture_rows
from eval.report.thumbnails import LONGEST_SIDE, thumbnail
from eval.scores import ScoreTable, score_schema
from operators.pictures import encode_png
from pipelines.report.picture_reader import EXPLORER_BYTES, PICTURE_BYTES
from pipelines.report.sweep_report import BESIDE_BYTES
from tests.eval.report.browser import Browser, chromium

_CELLS, _MEASUREMENTS = {"quick": 4, "normal": 100, "full": 100}, {"quick": 20, "normal": 1000, "full": 1000}
_OPENED = {"quick": 1, "normal": 5, "full": 15}
_METRICS = {"psnr": (22.0, 3.0), "ssim": (0.6, 0.1), "lpips_vgg": (0.3, 0.1), "lpips_alex": (0.2, 0.1),
            "residual": (1.0, 0.05), "seconds": (2.0, 0.1), "peak_bytes": (1e9, 0.0)}  # fmt: skip
_TASK, _KINDS = "sr4-32", 40
"""Different pictures: making them takes time, and a browser decodes equal ones once."""

_WATCH = """new MutationObserver(() => {
    if (document.documentElement?.dataset.ready === "true") window.readyAt ??= performance.now();
}).observe(document, {attributes: true, subtree: true});"""


@stands_for(
    Ratio("the larger page", "megabytes", 30, "lower", "MB", over="highest"),
    Ratio("100 cells x 1000 measurements drawn", "seconds", 3, "lower", "s", where={"page": "by itself"}),
)
def run(effort: Effort) -> list[dict[str, Any]]:
    """One row per page, with the median of the times it was opened."""
    cells, measurements = _CELLS[effort.level], _MEASUREMENTS[effort.level]
    random = np.random.default_rng(3)
    pictures = [_picture(random) for _ in range(_KINDS)]
    record = _record(random, cells, measurements)
    reports = {
        "by itself": _report(record, pictures),
        "another sweep beside": _report(record, pictures, Other("other", record)),
    }
    return [_opened(name, report, _OPENED[effort.level]) for name, report in reports.items()]


def _opened(name: str, report: Report, times: int) -> dict[str, Any]:
    started = time.perf_counter()
    page = render_page(report)
    rendered, seconds, computed = time.perf_counter() - started, None, None
    if chromium() is not None:
        with tempfile.TemporaryDirectory(prefix="g2d2-bench-", ignore_cleanup_errors=True) as place:
            seconds, computed = np.median(_drawn(Path(place), page, times), axis=0).tolist()
    shown = report.record.cells
    return {"page": name, "cells": len(shown), "pictures": len(report.pictures.images),
            "megabytes": len(page) / 1e6, "rendered": rendered, "seconds": seconds,
            "thread_seconds": computed}  # fmt: skip


def _drawn(place: Path, page: bytes, times: int) -> list[tuple[float, float]]:
    """Seconds from opening to the last chart, and those of the page's thread, of each time."""
    (place / "page.html").write_bytes(page)
    browser = Browser(place / "profile")
    try:
        browser.size(1280, 900)
        browser.send("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)
        browser.send("Performance.enable", timeDomain="threadTicks")
        return [_ready(browser, place / "page.html") for _ in range(times)]
    finally:
        browser.close()


def _ready(browser: Any, page: Path) -> tuple[float, float]:
    browser.send("Page.navigate", url="about:blank")
    browser.open(page)
    browser.nothing_went_wrong()
    metrics = {one["name"]: one["value"] for one in browser.send("Performance.getMetrics")["metrics"]}
    return float(browser.run("window.readyAt")) / 1000, float(metrics["TaskDuration"])


def _record(random: np.random.Generator, cells: int, measurements: int) -> SweepRecord:
    names = [f"{_TASK}/sample_images/{index:05d}.png" for index in range(measurements)]
    kinds = {"task": pa.string(), "process": pa.string(), "eta_kl": pa.float64(), "gamma": pa.float64()}
    schema, tables = score_schema(list(_METRICS), kinds), []
    hardness = random.normal(0, 1, measurements)
    for index in range(cells):
        process, place = ("star", "markov")[index % 2], index // 2
        point = {"process": process, "eta_kl": 10.0 ** -(1 + place % 5), "gamma": 0.1 * (1 + place // 5)}
        cell = f"{index:04d}"
        values = {
            name: mean + spread * (hardness + random.normal(0, 0.1, measurements) + 0.02 * (place % 7))
            for name, (mean, spread) in _METRICS.items()
        }
        fixed = {
            "item": [f"{cell}-{at}" for at in range(measurements)],
            "measurement": names,
            "measurement_digest": [f"d{at}" for at in range(measurements)],
            "cell": [cell] * measurements, "seed": [0] * measurements, "error": [None] * measurements,
            "task": [_TASK] * measurements,
        }  # fmt: skip
        columns = fixed | {name: [value] * measurements for name, value in point.items()} | values
        tables.append(pa.table({name: columns[name] for name in schema.names}, schema=schema))
    return SweepRecord(ScoreTable(pa.concat_tables(tables)))


def _report(record: SweepRecord, pictures: list[bytes], *against: Other) -> Report:
    """With pictures up to the budgets: rows of worst, median and best, then all cells of some measurements."""
    images: dict[str, bytes] = {}

    def keep(key: str, budget: int) -> bool:
        if key not in images and sum(map(len, images.values())) + len(pictures[len(images) % _KINDS]) > budget:
            return False
        images.setdefault(key, pictures[len(images) % _KINDS])
        return True

    rows = []
    for row in picture_rows(record):
        keys = [f"truth/{row.measurement}", f"y/{row.measurement}"]
        keys += [f"{cell}/{row.measurement}/0" for cell in row.values]
        if all(keep(key, PICTURE_BYTES) for key in keys):
            rows.append(row)
    budget = EXPLORER_BYTES + (BESIDE_BYTES if against else 0)
    sides = ["", *(f"{one.name}:" for one in against)]
    for name in dict.fromkeys(row.measurement for row in rows):
        for key in (f"{side}{cell.id}/{name}/0" for cell in record.cells for side in sides):
            keep(key, budget)
    facts = Facts("large", "out", "cifar10", len(record.scores), len(record.scores), 0, "", {})
    return Report(facts, record, Pictures(rows, images), against=against)


def _picture(random: np.random.Generator) -> bytes:
    """Noise that keeps as many bytes as a photograph of a page's size."""
    coarse = Image.fromarray(random.integers(0, 256, (64, 64, 3), dtype=np.uint8))
    return thumbnail(encode_png(coarse.resize((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.BICUBIC)))
