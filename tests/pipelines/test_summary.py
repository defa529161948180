"""The tables a sweep ends with: cells told by what varies, and no more said than the statistics allow."""

import itertools

import numpy as np
import pyarrow as pa

from eval.scores import ScoreTable, score_schema
from pipelines.summary import cell_table, process_table

PARAMETERS = {"task": pa.string(), "process": pa.string(), "schedule": pa.string(), "eta_kl": pa.float64(),
              "learning_rate": pa.float64()}  # fmt: skip


def scored(images, eta_kl=(0.001, 0.01), process=("markov", "star"), better=1.0):
    """Star is better by `better` dB on every image, and has a learning rate of its own."""
    random = np.random.default_rng(0)
    rows = []
    for number, (eta, name) in enumerate(itertools.product(eta_kl, process)):
        for image in range(images):
            psnr = 20 + image + (better + random.normal(0, 0.1)) * (name == "star")
            rows.append(
                {
                    "item": f"{number}-{image}", "measurement": f"{image}", "measurement_digest": "d", "seed": 0,
                    "cell": f"c{number}", "error": None, "task": "sr4-32", "process": name, "schedule": "linear",
                    "eta_kl": eta, "learning_rate": 20.0 if name == "star" else 15.0, "psnr": psnr, "ssim": 0.5,
                    "residual": 1.0, "seconds": 2.0,
                }
            )  # fmt: skip
    schema = score_schema(metrics=["psnr", "ssim", "residual", "seconds"], parameters=PARAMETERS)
    return ScoreTable(pa.Table.from_pylist(rows, schema=schema))


def test_what_the_grid_varies_are_columns_and_what_was_tuned_is_not():
    header, *rows = cell_table(scored(4), ["psnr"], ["process", "eta_kl"]).splitlines()
    assert header.split() == ["task", "process", "eta_kl", "psnr", "s/image", "n", "failed"]
    assert [row.split()[:3] for row in rows] == [
        ["sr4-32", process, eta] for process in ("markov", "star") for eta in ("0.001", "0.01")
    ]


def test_a_lone_cell_is_told_by_task_and_process():
    header, row = cell_table(scored(4, [0.001], ["star"]), ["psnr"], ["eta_kl"]).splitlines()
    assert header.split()[:3] == ["task", "process", "psnr"]
    assert row.split()[:2] == ["sr4-32", "star"]


def test_a_clear_difference_is_called_one():
    header, *rows, last = process_table(scored(12), ["psnr", "ssim", "residual"], ["process", "eta_kl"]).splitlines()
    assert header.split()[:3] == ["task", "eta_kl", "metric"]
    assert [row.split()[:3] for row in rows[:2]] == [["sr4-32", eta, "psnr"] for eta in ("0.001", "0.01")]
    assert all(row.endswith("star better") for row in rows[:2])
    assert all(row.endswith("no difference shown") for row in rows[2:])
    assert len(rows) == 4  # a residual is neither better nor worse
    assert last == "p is corrected over 4 comparisons."
    assert process_table(scored(12, process=["star"]), ["psnr"], ["eta_kl"]) is None


def test_with_too_few_images_it_says_so_and_how_many_would_do():
    *rows, last = process_table(scored(6, better=-3), ["psnr"], ["process", "eta_kl"]).splitlines()
    assert all(row.endswith("leans to Markov (p >= 0.05)") for row in rows[1:])
    assert last == "p is corrected over 2 comparisons: 6 measurements cannot give one below 0.05, 7 can."
    *_, enough, _ = process_table(scored(7, better=-3), ["psnr"], ["process", "eta_kl"]).splitlines()
    assert enough.endswith("Markov better")
