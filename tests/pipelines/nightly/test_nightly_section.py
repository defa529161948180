"""The nightly part of a report: what its charts are drawn from."""

from eval.trend import ChangePoint
from pipelines.nightly.night_trends import Trend
from pipelines.nightly.records import Level
from pipelines.nightly.section import _lines


def test_a_new_level_rings_points_of_its_own_line():
    levels = [Level(mean=20.0), None, Level(mean=21.0)]
    trend = Trend("c", "sr4-32 star", "psnr", ["1", "2", "3"], levels, [ChangePoint(2, 20.0, 21.0, 0.01)])
    line, mark = _lines(trend)
    assert (list(line.y), line.marks) == ([20.0, None, 21.0], "")
    assert (list(mark.y), mark.marks) == ([None, None, 21.0], line.name)
