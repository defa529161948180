"""The page as text: complete, self-contained, and harmless whatever the data says."""

import json
import re

import pyarrow.compute as pc
import pytest

from eval.record import SweepRecord
from eval.record.headline import worse_than_nothing
from eval.record.numbers import shown
from eval.report import Facts, Report, Section, Series, line_chart, paragraph, render_page, table
from eval.report.page_values import embedded
from eval.report.vega_runtime import runtime
from eval.scores import ScoreTable
from tests.eval.record.score_cases import TASKS, four_arms
from tests.eval.report.conftest import HOSTILE


@pytest.fixture(scope="module")
def page(report):
    extra = Section(
        "Trend <over> nights", line_chart("psnr", "night", "dB", [Series("star", ["mon", "tue"], [20.0, None])])
    )
    return render_page(report, [extra]).decode()


def values(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_nothing_of_the_data_becomes_markup(page):
    assert HOSTILE not in page
    assert page.count("<script>") == 2
    assert "<img" not in page.split('<script type="application/json"')[0]
    assert values(page)["rows"][0]["prompt"] == HOSTILE
    assert "Trend &lt;over&gt; nights" in page


def test_the_page_asks_for_nothing_outside_itself(page):
    outside = page.replace(runtime(), "")
    assert not re.search(r'(?:src|href)="(?!#|data:)', outside)
    assert "default-src 'none'" in page
    assert "@import" not in page


def test_the_first_screen_says_what_won_and_what_is_missing(page):
    first = re.search(r'<section id="summary"(.*?)</section>', page, re.DOTALL)[1]
    assert "star beats markov in all of 4 comparisons" in first
    assert f"Nothing is better than the measurement itself in {TASKS[0]} by psnr</span></h1>" in first
    assert first.count("star, eta_kl=0.01, gamma=0.1") == 4
    assert "288 of 290 reconstructions scored, 1 failed" in " ".join(first.split())
    assert "not complete: 2 of 290 missing" in page


def test_the_first_screen_holds_results_against_the_measurement_itself(page, report):
    first = page.split('<section id="best"')[0]
    above, below = (report.record.measurements[task]["psnr"].mean for task in TASKS)
    assert f"not better than the measurement itself: {shown(above)}" in first
    assert f"; the measurement itself: {shown(below)}" in first
    assert page.count("<td>the measurement itself</td>") == 4  # of every task, among arms and among cells
    (said,) = worse_than_nothing(report.record)  # of all arms: the headline has said it
    assert worse_than_nothing(report.record, below_headline=True) == []
    assert (TASKS[0] in said, page.count('<p class="warning">')) == (True, 0)


def test_the_first_screen_says_what_failed_most(page):
    first = page.split('<section id="best"')[0]
    assert "1 row failed with: RuntimeError:" in first
    assert ". The section What ran lists all failures." in first


def test_every_anchor_of_the_navigation_exists(page):
    anchors = re.findall(r"<nav.*?</nav>", page, re.DOTALL)[0]
    names = re.findall(r'href="#([\w-]+)"', anchors)
    assert {"best", "contrasts", "grid", "cost", "residual", "pictures", "traces", "more-1", "paper", "ran"} <= set(
        names
    )
    assert all(f'id="{name}"' in page for name in names)


def test_embedded_json_cannot_end_its_element():
    text = embedded({"a": "</script><!-- & \u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><!-- & \u2028"}


def test_builders_escape_what_they_are_given():
    for html in (table([HOSTILE], [[HOSTILE]], HOSTILE), paragraph(HOSTILE), line_chart(HOSTILE, "x", "y", [])):
        assert "<script" not in html
        assert "<img" not in html


def test_one_cell_of_one_task_makes_a_page(record):
    alone = record.scores.table.filter(pc.equal(record.scores.table["cell"], record.cells[0].id))
    facts = Facts("alone", "out", "p", 12, 12, 0, "", {})
    page = render_page(Report(facts, SweepRecord(ScoreTable(alone)))).decode()
    assert '<section id="grid"' not in page
    assert '<section id="contrasts"' not in page
    assert "The best settings of every task" in page
    assert '<span class="settings">star</span>' in page


def test_a_section_may_open_the_page(report):
    sections = [Section("Later", paragraph("b")), Section("The verdict", paragraph("a"), opens=True)]
    page = render_page(report, sections).decode()
    anchors = re.findall(r'<section id="([\w-]+)"', page)
    assert anchors[:2] == ["more-2", "summary"]
    assert anchors.index("more-1") == anchors.index("traces") + 1


def test_text_that_no_builder_made_is_escaped(report):
    assert "<b>bold</b>" not in render_page(report, [Section("Plain", "<b>bold</b>")]).decode()


def test_a_page_of_four_arms_names_each_with_its_method_and_contrast():
    record = SweepRecord(ScoreTable(four_arms()), arms=["star", "markov", "wiener", "bicubic"], compare="markov")
    page = render_page(Report(Facts("four", "out", "p", 216, 216, 0, "", {}), record)).decode()
    assert values(page)["arms"] == ["star", "markov", "wiener", "bicubic"]
    assert values(page)["axes"] == ["arm", "eta_kl", "noise"]
    rivals = {one["row"].split(" · ")[-1] for one in values(page)["datasets"]["contrasts"]}
    assert rivals == {"star", "wiener", "bicubic"}
    assert "Against markov: star better in" in page
    assert "steps 25 for star, 50 for markov" in page
    assert '<th scope="col">method</th>' in page
