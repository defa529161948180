"""Nights as series: which belong together, what is marked, how it looks."""

import numpy as np

from pipelines.nightly.facts import what_changed
from pipelines.nightly.night_text import sparkline, trend_rows
from pipelines.nightly.night_trends import trends
from tests.pipelines.nightly.night_cases import level, night


def series(means, **changes):
    return [night(f"n{i:02d}", {"psnr": level(mean, mean - 1, mean + 1)}, **changes) for i, mean in enumerate(means)]


def test_a_lasting_change_is_marked_with_its_night():
    noise = np.random.default_rng(0).normal(0, 0.02, 20)
    *history, tonight = series(np.r_[np.full(14, 23.5), np.full(6, 23.0)] + noise)
    (found,) = trends(history, tonight, 30)
    assert len(found.nights) == 20
    assert [found.nights[change.index] for change in found.changes] == ["n14"]
    assert found.marks()[0].startswith("n14: 23.5 -> 23")
    assert found.plain()["changes"][0]["night"] == "n14"
    rows, left = trend_rows([found])
    assert rows[0][:2] == ["psnr", "star"]
    assert "n14" in rows[0][4]
    assert left == []


def test_only_whole_nights_of_the_same_measurements_count_and_only_the_last():
    *history, tonight = series([1.0] * 9)
    history[2] = night("n02", {"psnr": level(1)}, facts={"manifest digest": "other"})
    history[3] = night("n03", {"psnr": level(1)}, complete=False)
    (found,) = trends(history, tonight, 4)
    assert found.nights == ["n05", "n06", "n07", "n08"]
    (found,) = trends(history, tonight, 30)
    assert found.nights == ["n00", "n01", "n04", "n05", "n06", "n07", "n08"]


def test_a_night_judged_again_stands_once():
    history = series([1.0, 2.0, 3.0])
    (found,) = trends(history, history[-1], 30)
    assert found.nights == ["n00", "n01", "n02"]


def test_a_night_of_the_past_is_held_against_what_came_before_it():
    history = series([1.0, 2.0, 3.0, 4.0])
    (found,) = trends(history, history[1], 30)
    assert found.nights == ["n00", "n01"]


def test_with_many_series_a_jump_takes_longer_to_be_marked():
    def marked(metrics, nights):
        jump = [23.5] * 12 + [22.0] * nights
        *history, tonight = [
            night(f"n{i:02d}", {f"m{k}": level(mean) for k in range(metrics)}) for i, mean in enumerate(jump)
        ]
        return [bool(found.changes) for found in trends(history, tonight, 30)]

    assert (marked(1, 1), marked(1, 2)) == ([False], [True])
    assert (marked(12, 3), marked(12, 4)) == ([False] * 12, [True] * 12)


def test_a_metric_that_is_new_has_gaps():
    history = [night("a", {}), night("b", {"psnr": level(1)})]
    (found,) = trends(history, night("c", {"psnr": level(2)}), 30)
    assert found.plain()["means"] == [None, 1, 2]
    assert sparkline(found.levels) == " ▁█"


def test_bars_show_the_range_and_a_flat_series_is_flat():
    assert sparkline([level(0), level(7), level(3.5)]) == "▁█▅"
    assert len(set(sparkline([level(2), level(2 + 1e-13)]))) == 1
    assert trend_rows([]) == ([], [])


def test_what_changed_is_named():
    before = {"version": "1", "prior digest": "a" * 32, "torch": "2"}
    now = {"version": "1", "prior digest": "b" * 32, "cuda": "13"}
    told = what_changed(before, now)
    assert (
        told == "since the baseline: prior digest aaaaaaaaaaaa -> bbbbbbbbbbbb, torch 2 -> unknown, cuda unknown -> 13"
    )
    assert what_changed(now, now) is None
