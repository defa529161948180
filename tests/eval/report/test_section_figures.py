"""Charts of a caller's own sections as figures, in the colours that they have on the page."""

from eval.report import Section, Series, line_chart, paragraph
from eval.report.chart_style import PRINT
from eval.report.figure_files import written
from eval.report.section_figures import section_figures

CELLS = [Series("one, eta_kl=0.1", [1, 2, 3], [1.0, 2.0, 3.0], arm="markov"), Series("two", [1, 2, 3], [3.0, 2.0, 1.0])]
SECTIONS = [
    Section("The race", paragraph("words") + line_chart("cells <in>", "seen", "cells", CELLS[1:])),
    Section("More", line_chart("means", "seen", "psnr", CELLS) + line_chart("others", "seen", "psnr", CELLS)),
]


def test_every_chart_of_a_section_is_a_figure_by_the_sections_name():
    found = dict(section_figures(SECTIONS, ["star", "markov"]))
    assert list(found) == ["the race-1", "more-1", "more-2"]
    assert b"cells &lt;in&gt;" in written(found["the race-1"], "svg")[0]


def test_arms_have_their_colours_where_there_are_several():
    drawn = [written(dict(section_figures(SECTIONS, arms))["more-1"], "svg")[0].decode().lower()
             for arms in (["star", "markov"], ["markov"])]  # fmt: skip
    assert [PRINT["a1"] in text for text in drawn] == [True, False]
    assert all(PRINT["s1"] in text for text in drawn)
    assert PRINT["s0"] in drawn[1]
