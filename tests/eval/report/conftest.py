"""A small report made of plain numbers: two tasks, star and Markov, eta_kl x gamma, with hostile names."""

import io

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from eval.report import Facts, Failure, Pictures, Report, Results, TaskFacts, TraceCurves
from eval.report.shown_cells import picture_rows
from eval.scores import ScoreTable, score_schema
from eval.statistics import Interval

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked=1'>"
TASKS = ("sr4-32", "blur & <b>more</b>")


def score_table(images=12, processes=("star", "markov"), etas=(0.001, 0.01, 0.1), gammas=(0.1, 1.0), lift=1.0):
    """Star is better by `lift` dB; eta_kl 0.01 and gamma 0.1 are the best."""
    random = np.random.default_rng(0)
    kinds = {"task": pa.string(), "process": pa.string(), "eta_kl": pa.float64(), "gamma": pa.float64()}
    rows = []
    for task in TASKS:
        base = random.normal(20, 2, images)
        for process in processes:
            for eta in etas:
                for gamma in gammas:
                    cell = f"{task[:3]}-{process}-{eta}-{gamma}"
                    quality = lift * (process == "star") - abs(np.log10(eta) + 2) - gamma
                    psnr = base + quality + random.normal(0, 0.1, images)
                    for i in range(images):
                        rows.append(
                            {"item": f"{cell}-{i}", "measurement": f"m{i:03d}", "measurement_digest": f"d{i}",
                             "cell": cell, "seed": 0, "error": None, "task": task, "process": process, "eta_kl": eta,
                             "gamma": gamma, "psnr": psnr[i], "lpips_vgg": 1 - psnr[i] / 40, "residual": 1 + gamma,
                             "seconds": 1 + eta}
                        )  # fmt: skip
    names = ["psnr", "lpips_vgg", "residual", "seconds"]
    return pa.Table.from_pylist(rows, schema=score_schema(names, kinds))


def picture(shade, side=32):
    buffer = io.BytesIO()
    Image.fromarray(np.full((side, side, 3), shade, np.uint8)).save(buffer, format="PNG")
    return buffer.getvalue()


@pytest.fixture(scope="session")
def results():
    return Results(ScoreTable(score_table()))


@pytest.fixture(scope="session")
def report(results):
    rows = picture_rows(results, each=1)
    images = {}
    for row in rows:
        images |= {f"truth/{row.measurement}": picture(200), f"y/{row.measurement}": picture(90, 8)}
        images |= {f"{cell}/{row.measurement}/0": picture(150) for cell in row.values}
    best = {
        task: [cell for cell in results.of_task(task) if cell.label.endswith("eta_kl=0.01, gamma=0.1")]
        for task in TASKS
    }
    images["sample"] = picture(30)
    traces = [
        TraceCurves(cell.id, [3, 2, 1], [9.0, 8, 7, 6, 5, 4], [5.0] * 6, [1.0] * 6, [0.0, 2, 1], [64.0, 30, 5], 4,
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
    best_mean = max(cell.means["psnr"].mean for cell in results.of_task(TASKS[0]))
    measured = {
        TASKS[0]: {"psnr": Interval(best_mean + 1, best_mean, best_mean + 2, 12, 0.5, 12, 0, 0.95)},
        TASKS[1]: {"psnr": Interval(5.0, 4.0, 6.0, 12, 0.5, 12, 0, 0.95)},
    }
    return Report(facts, results, Pictures(pictured, images), traces, measurements=measured)
