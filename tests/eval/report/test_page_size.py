"""A page's bytes are bounded: scores of single measurements make room for all else."""

import json
import re
from dataclasses import replace

import pytest

from eval.report import render_page
from eval.report.chart_rows import curve_rows
from eval.report.content import Other, Pictures, TraceCurves
from eval.report.explored import explored
from tests.eval.record.score_cases import TASKS

MEASUREMENTS = 12


def held(page):
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.decode(), re.DOTALL)[1]
    return json.loads(text)["explored"]


def numbers(found):
    return [sum(len(column) for columns in one.values.values() for column in columns.values()) for one in found]


@pytest.mark.parametrize("beside", [False, True])
def test_the_scores_of_all_tasks_and_sweeps_together_are_bounded(report, beside):
    whole = replace(report, against=[Other("other", report.record)] if beside else [])
    every = numbers(explored(whole))
    assert len(every) == len(TASKS)
    for most in (sum(every), sum(every) // 2, sum(every) // 3):
        kept = list(explored(whole, most))
        assert sum(numbers(kept)) <= most
        assert all(len(one.measurements) + one.left_out == MEASUREMENTS for one in kept)
    assert min(numbers(kept)) > 0


def test_a_page_that_would_be_too_large_leaves_out_measurements(report, monkeypatch):
    whole = render_page(report)
    assert [one["left_out"] for one in held(whole)] == [0, 0]
    without = len(whole) - sum(len(json.dumps(one["values"])) for one in held(whole))
    for most in (len(whole) + 10, len(whole) - 1, (len(whole) + without) // 2):
        monkeypatch.setattr("eval.report.page.PAGE_BYTES", most)
        page = render_page(report)
        assert len(page) <= most
        assert (sum(one["left_out"] for one in held(page)) == 0) is (most > len(whole))
    assert all(len(one["measurements"]) >= 1 for one in held(page))


def test_pictures_take_the_room_of_measurements(report, monkeypatch):
    monkeypatch.setattr("eval.report.page.PAGE_BYTES", len(render_page(report)) + 10)
    kept = Pictures(report.pictures.rows, report.pictures.images | {"more": bytes(3000)})
    page = render_page(replace(report, pictures=kept))
    assert len(page) <= len(render_page(report)) + 10
    assert sum(one["left_out"] for one in held(page)) > 0


def test_a_page_without_room_keeps_one_measurement_of_each_task(report, monkeypatch):
    monkeypatch.setattr("eval.report.page.PAGE_BYTES", 0)
    assert [len(one["measurements"]) for one in held(render_page(report))] == [1, 1]


def test_curves_share_the_points_of_a_page(report, monkeypatch):
    cells = [cell.id for cell in report.record.cells][:10]
    traces = [TraceCurves(cell, [], {name: [1.0] * 4000 for name in "abcde"}, 1, [], "m000", 0) for cell in cells]
    rows = curve_rows(replace(report, traces=traces))
    assert len(rows) == 50 * 400
    assert {row["step"] for row in rows} >= {1.0}
    assert len(curve_rows(replace(report, traces=traces[:1]))) == 5 * 1000
