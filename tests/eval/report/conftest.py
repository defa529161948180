"""A small report made of plain numbers: two tasks, two arms, eta_kl x gamma, with hostile names."""

import io

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from eval.record import SweepRecord
from eval.report import (
    Facts,
    Failure,
    Pictures,
    Report,
    Section,
    Series,
    TaskFacts,
    TraceCurves,
    line_chart,
    render_page,
)
from eval.report.shown_cells import picture_rows
from eval.scores import ScoreTable
from tests.eval.record.score_cases import TASKS, score_table
from tests.eval.report.browser import Browser

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked=1'>"


def picture(shade, side=32):
    buffer = io.BytesIO()
    Image.fromarray(np.full((side, side, 3), shade, np.uint8)).save(buffer, format="PNG")
    return buffer.getvalue()


def measured_table(record):
    """y itself is better than everything in the first task, and far below it in the second."""
    best = max(cell.means["psnr"].mean for cell in record.of_task(TASKS[0]))
    worth = {TASKS[0]: best + 1, TASKS[1]: 5.0}
    rows = [
        {"digest": f"d{i}", "measurement": f"m{i:03d}", "task": task, "psnr": mean + 0.1 * (i - 5.5)}
        for task, mean in worth.items()
        for i in range(12)
    ]
    return pa.Table.from_pylist(rows)


@pytest.fixture(scope="session")
def record():
    scores = ScoreTable(score_table())
    return SweepRecord(scores, measured=measured_table(SweepRecord(scores)))


@pytest.fixture(scope="session")
def report(record):
    rows = picture_rows(record, each=1)
    images = {}
    for row in rows:
        images |= {f"truth/{row.measurement}": picture(200), f"y/{row.measurement}": picture(90, 8)}
        images |= {f"{cell}/{row.measurement}/0": picture(150) for cell in row.values}
    best = {
        task: [cell for cell in record.of_task(task) if cell.label.endswith("eta_kl=0.01, gamma=0.1")] for task in TASKS
    }
    images["sample"] = picture(30)
    traces = [
        TraceCurves(cell.id, [3, 2, 1], {"total": [9.0, 8, 7, 6, 5, 4], "kl": [1.0] * 6, "remasked": [0.0, 2, 1]}, 4,
                    [(3, "sample"), (1, "sample")], "m000", 30)
        for cells in best.values() for cell in cells
    ]  # fmt: skip
    facts = Facts(
        name=HOSTILE,
        where="out/there",
        prior="cifar10",
        expected=290,
        scored=288,
        failed=1,
        specification=f"name: {HOSTILE}",
        details={"version": "0.1.0", "prior digest": "abc"},
        tasks={
            "sr4-32": TaskFacts("super_resolution", {"factor": 4}, 0.05, (3, 32, 32), 192),
            TASKS[1]: TaskFacts("gaussian_blur", {"kernel_size": 61, "std": 3.0}, 0.05, (3, 256, 256), 196608),
        },
        failures=[Failure(f"RuntimeError: {HOSTILE}", 1, ["m001"])],
    )
    pictured = [type(row)(**(vars(row) | {"prompt": HOSTILE})) for row in rows]
    return Report(facts, record, Pictures(pictured, images), traces)


@pytest.fixture(scope="module")
def browser(report, tmp_path_factory):
    """With the report's page open, and sections of a caller's own on it."""
    folder = tmp_path_factory.mktemp("browser")
    nights = ["mon", "tue", "wed", "thu", "fri"]
    cells = [Series(f"cell {i}", nights, [20.0 + i, 20.1 + i, None, 20.2 + i, 20.3 + i]) for i in range(7)]
    new = Series("cell 1: new level", nights, [None, None, None, 21.2, None], marks="cell 1")
    extra = [
        Section("Trend", line_chart("psnr by night", "night", "dB", [Series("star", ["mon", "tue"], [20.0, 21.0])])),
        Section("Gaps", line_chart("psnr of cells", "night", "dB", [*cells, new])),
        Section("Named", line_chart("both", "night", "dB", [Series("a", nights, [1.0] * 5, arm="markov")])),
    ]
    (folder / "page.html").write_bytes(render_page(report, extra))
    browser = Browser(folder / "profile")
    try:
        browser.size(1280, 900)
        browser.open(folder / "page.html")
        yield browser
    finally:
        browser.close()


@pytest.fixture
def quiet(browser):
    """Whatever a test does, the console stays empty and the network unused."""
    yield
    browser.nothing_went_wrong()
    assert browser.run("window.hacked") is None
