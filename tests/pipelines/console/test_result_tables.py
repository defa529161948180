"""What a sweep ends with on a terminal: cells told by what varies, and no more said than the statistics allow."""

import itertools

import numpy as np
import pyarrow as pa

from eval.record import SweepRecord
from eval.scores import ScoreTable, score_schema
from pipelines.console.result_tables import cell_lines, contrast_lines

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


def test_what_varies_within_an_arm_are_columns_and_what_was_tuned_is_not():
    header, *rows = cell_lines(SweepRecord(scored(4))).splitlines()
    assert " ".join(header.split()) == "task arm eta_kl psnr ↑ ssim ↑ residual s/image n failed"
    assert [row.split()[:3] for row in rows] == [
        ["sr4-32", arm, eta] for arm in ("star", "markov") for eta in ("0.001", "0.01")
    ]


def test_a_lone_cell_is_told_by_task_and_arm():
    header, row = cell_lines(SweepRecord(scored(4, [0.001], ["star"]))).splitlines()
    assert header.split()[:3] == ["task", "arm", "psnr"]
    assert row.split()[:2] == ["sr4-32", "star"]
    assert contrast_lines(SweepRecord(scored(12, process=["star"]))) == ""


def test_a_clear_difference_is_called_one_best_against_best_and_point_by_point():
    best, points, last = contrast_lines(SweepRecord(scored(12))).split("\n\n")
    caption, header, *rows = best.splitlines()
    what = "star minus markov, each at its best, chosen on other images than it is judged by"
    assert caption == f"{what}; p after Holm over 2 comparisons."
    assert header.split()[:4] == ["task", "metric", "a", "b"]
    assert [row.rpartition("  ")[2] for row in rows] == ["star better", "no difference shown"]
    caption, _, *rows = points.splitlines()
    assert caption == "star minus markov where all else that varies agrees; p after Holm over 4 comparisons."
    assert [row.rpartition("  ")[2] for row in rows] == ["star better"] * 2 + ["no difference shown"] * 2
    assert "star, eta_kl=0.001  markov, eta_kl=0.001  +0.9750 [" in rows[0]
    assert last == "star wins 1, markov 0, 1 undecided of 2 comparisons"  # a residual is neither better nor worse


def test_with_too_few_images_it_says_so_and_how_many_would_do():
    best, points, last = contrast_lines(SweepRecord(scored(5, better=-3))).split("\n\n")
    assert best.splitlines()[-1] == "5 measurements cannot give a p below 0.05, 7 can."
    assert points.splitlines()[-1] == "5 measurements cannot give a p below 0.05, 8 can."
    assert "leans" not in best + points
    assert "too few images to tell" in points
    assert last == "5 images cannot tell star from markov; 7 can"
    enough = contrast_lines(SweepRecord(scored(8, better=-3)))
    assert "markov better" in enough
    assert "cannot give" not in enough


def test_a_large_table_is_cut_and_keeps_the_measurements():
    rows = [{"digest": "d", "measurement": f"{i}", "task": "sr4-32", "psnr": 5.0} for i in range(3)]
    record = SweepRecord(scored(3, eta_kl=np.arange(1, 31) / 1000), measured=pa.Table.from_pylist(rows))
    lines = cell_lines(record, ["not whole"]).splitlines()
    assert len(lines) == 1 + 40 + 1 + 1 + 1
    assert lines[-3].split()[:4] == ["sr4-32", "the", "measurement", "itself"]
    assert lines[-2:] == ["... and 20 rows more in the report", "note: not whole"]


def test_many_points_are_counted_instead_of_listed():
    record = SweepRecord(scored(12, eta_kl=np.arange(1, 9) / 1000))
    _, points, _ = contrast_lines(record).split("\n\n")
    caption, header, *rows = points.splitlines()
    assert caption == "What won where all else that varies agrees; p after Holm over 16 comparisons."
    assert header.split() == ["task", "metric", "a", "-", "b", "points", "a", "better", "b", "better", "undecided"]
    assert [row.split()[1:] for row in rows] == [
        ["psnr", "star", "-", "markov", "8", "8", "0", "0"],
        ["ssim", "star", "-", "markov", "8", "0", "0", "8"],
    ]
