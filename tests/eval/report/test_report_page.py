"""The page as text: complete, self-contained, and harmless whatever the data says."""

import json
import re

import pytest

from eval.report import Section, Series, line_chart, paragraph, render_page, table
from eval.report.charts import embedded
from eval.report.numbers import shown
from tests.eval.report.conftest import HOSTILE, TASKS


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
    assert page.count("<script") == 2
    assert "<img" not in page.split('<script type="application/json"')[0]
    assert values(page)["rows"][0]["prompt"] == HOSTILE
    assert "Trend &lt;over&gt; nights" in page


def test_the_page_asks_for_nothing_outside_itself(page):
    outside = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r'(?:src|href)="(?!#|data:)', outside)
    assert "default-src 'none'" in page
    assert "@import" not in page


def test_the_first_screen_says_what_won_and_what_is_missing(page):
    first = re.search(r'<section id="summary">(.*?)</section>', page, re.DOTALL)[1]
    assert "Star beats Markov in all of 4 comparisons" in first
    assert first.count("star, eta_kl=0.01, gamma=0.1") == 4
    assert "288 of 290 reconstructions scored, 1 failed" in first
    assert "not complete: 2 of 290 missing" in page


def test_the_first_screen_holds_results_against_the_measurement_itself(page, report):
    first = page.split('<section id="best"')[0]
    above, below = (report.measurements[task]["psnr"].mean for task in TASKS)
    assert f"not better than the measurement itself: {shown(above)}" in first
    assert f"; the measurement itself: {shown(below)}" in first
    assert page.count('<th scope="row">the measurement itself</th>') == 2


def test_the_first_screen_says_what_failed_most(page):
    first = page.split('<section id="best"')[0]
    assert "1 row failed with: RuntimeError:" in first
    assert ". The section What ran lists all failures." in first


def test_every_anchor_of_the_navigation_exists(page):
    anchors = re.findall(r"<nav.*?</nav>", page, re.DOTALL)[0]
    names = re.findall(r'href="#([\w-]+)"', anchors)
    assert {"best", "processes", "grid", "cost", "residual", "pictures", "traces", "more-1", "paper", "ran"} <= set(
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


def test_one_cell_of_one_task_makes_a_page(results):
    import pyarrow.compute as pc

    from eval.report import Facts, Report, Results
    from eval.scores import ScoreTable

    alone = results.scores.table.filter(pc.equal(results.scores.table["cell"], results.cells[0].id))
    facts = Facts("alone", "out", "p", 12, 12, 0, "", {})
    page = render_page(Report(facts, Results(ScoreTable(alone)))).decode()
    assert '<section id="grid"' not in page
    assert "The best settings of every task" in page
    assert "the only settings" in page
