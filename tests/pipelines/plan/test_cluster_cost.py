"""Hours and money on devices that are not there, from measured figures or from the paper's."""

import json

import pytest

from g2d2.methods.g2d2 import G2D2
from operators import InputError
from pipelines.plan.cells import Cell
from pipelines.plan.cluster_cost import cluster_cost, parse_price

ROW = {"way": "eager", "batch": 4, "prior_seconds": 0.2, "decoder_seconds": 0.1, "error": None}
BENCH = {
    "shape": "ithq",
    "device": "A100",
    "rows": [
        ROW | {"seconds_per_image": 80.0, "low": 72.0, "high": 100.0},
        ROW | {"batch": 1, "seconds_per_image": 120.0, "low": 110.0, "high": 130.0},
        {"way": "graphs", "batch": 1, "seconds_per_image": None, "error": "RuntimeError: no"},
    ],
}


def cell(method="g2d2", **changes):
    return Cell(0, "id", "recipe", "task", "arm", method, "prior", G2D2().settings(**changes).model_dump())


def test_a_measured_file_gives_seconds_by_calls_with_the_range_of_its_rounds(tmp_path):
    (tmp_path / "gpu.json").write_text(json.dumps(BENCH))
    cells = [cell(steps=100, iterations=30), cell(steps=10, iterations=10)]
    cost = cluster_cost(cells, 20, tmp_path / "gpu.json")
    assert cost.middle == pytest.approx(10 * (100 * 0.2 + 3000 * 0.1 + 10 * 0.2 + 100 * 0.1) / 4)
    assert (cost.low / cost.middle, cost.high / cost.middle) == pytest.approx((0.9, 1.25))
    assert "ithq on A100, eager in batches of 4" in cost.source
    facts = cost.facts(devices=8, price=2.0)
    assert facts["hours"] == [hours / 8 for hours in facts["device_hours"]]
    assert facts["money"] == [2 * hours for hours in facts["device_hours"]]


def test_without_a_file_the_papers_figure_is_the_most():
    cost = cluster_cost([cell(steps=100, iterations=30)], 1000, None)
    assert cost.high == 194_000
    assert cost.low < cost.middle < cost.high
    assert "no GPU was measured" in cost.source
    assert "money" not in cost.facts(1, None)


def test_what_cannot_be_estimated_is_refused(tmp_path):
    with pytest.raises(InputError, match="figures of g2d2 alone, and the sweep has an arm of dps"):
        cluster_cost([cell("dps")], 1, None)
    (tmp_path / "empty.json").write_text(json.dumps(BENCH | {"rows": BENCH["rows"][2:]}))
    with pytest.raises(InputError, match="no row that was measured"):
        cluster_cost([cell()], 1, tmp_path / "empty.json")
    with pytest.raises(InputError, match="cannot be read"):
        cluster_cost([cell()], 1, tmp_path / "missing.json")


def test_prices():
    assert (parse_price("2.1/h"), parse_price("3")) == (2.1, 3.0)
    with pytest.raises(InputError, match=r"write it as 2\.1/h"):
        parse_price("2.1/day")
