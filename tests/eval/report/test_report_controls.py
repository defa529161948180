"""Every control of a page in headless Chromium: each option, button and summary, and marks under a real pointer."""

import re
import time
from dataclasses import replace

import pyarrow as pa
import pytest

from eval.record import SweepRecord
from eval.report import Facts, Pictures, Report, render_page
from eval.scores import ScoreTable
from tests.eval.record.score_cases import TASKS, score_table
from tests.eval.report.browser import NEEDS_BROWSER, PATIENCE, count

pytestmark = [*NEEDS_BROWSER, pytest.mark.usefixtures("quiet")]

MARKS = "figure.chart:not([hidden]) .rows_marks path"
SHIFT = 8


def settled(browser, script):
    """The middle of what an expression finds, brought into view, once charts above have found their height."""
    middle = f"""(() => {{
        const found = {script};
        found.scrollIntoView({{block: 'center', behavior: 'instant'}});
        const area = found.getBoundingClientRect();
        return [area.left + area.width / 2, area.top + area.height / 2];
    }})()"""
    end, before = time.monotonic() + PATIENCE, None
    while before != (now := browser.run(middle)):
        assert time.monotonic() < end
        before = now
        time.sleep(0.1)
        browser.wait("document.documentElement.dataset.ready === 'true'")
    return now


def text(browser, name):
    return browser.run(f"document.getElementById({name!r}).textContent")


def press(browser, x, y, clicks=1):
    for click in range(1, clicks + 1):
        for kind in ("mousePressed", "mouseReleased"):
            browser.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=click)


def drag(browser, x, y, by):
    browser.send("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
    for part in (0.5, 1):
        browser.send("Input.dispatchMouseEvent", type="mouseMoved", x=x + part * by, y=y, button="left", buttons=1)
    browser.send("Input.dispatchMouseEvent", type="mouseReleased", x=x + by, y=y, button="left", clickCount=1)


def test_every_option_of_every_select_can_be_chosen(browser):
    names = browser.run("[...document.querySelectorAll('select')].map((select) => select.id)")
    assert {
        "theme", "grid-task", "grid-metric", "grid-x", "grid-y", "grid-arm", "grid-how", "cost-task", "cost-metric",
        "cost-x", "residual-task", "pictures-task", "pictures-metric", "pictures-kind", "explorer-task",
        "explorer-measurement", "explorer-metric", "explorer-a", "explorer-b", "trace-task",
    } == set(names)  # fmt: skip
    for name in names:
        values = f"[[...document.getElementById({name!r}).options].map((one) => one.value), {name!r}]"
        options, _ = browser.run(values)
        first = browser.run(f"document.getElementById({name!r}).value")
        for value in [*(one for one in options if one != first), first]:
            browser.choose(name, value)
            browser.nothing_went_wrong()
        assert browser.run(f"document.getElementById({name!r}).value") == first


def test_every_button_and_summary_can_be_pressed(browser):
    pressed = browser.run("""(() => {
        const all = [...document.querySelectorAll('main button, summary')];
        for (const one of all) {
            one.click();
            if (one.matches('.tiles button')) document.querySelector('#enlarged button').click();
        }
        return all.map((one) => one.className || one.tagName);
    })()""")
    assert {"tile", "cell", "SUMMARY"} == set(pressed)
    browser.wait("document.documentElement.dataset.ready === 'true'")
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = false; })")


def test_a_mark_of_every_chart_can_be_pressed_and_shows_its_cell(browser):
    for task in ("cost-task", "residual-task", "trace-task", "explorer-task"):
        browser.choose(task, TASKS[1])
    figures = f"[...new Set([...document.querySelectorAll({MARKS!r})].map((mark) => mark.closest('figure')))]"
    told = f"{figures}.map((one) => one.id || one.dataset.name || one.closest('section').id)"
    names = browser.run(told)
    assert names == [
        "forest", "heat", "marginal", "parallel", "cost", "residual", "curve/total", "curve/kl", "curve/remasked",
        "more-1", "more-2", "more-3",
    ]  # fmt: skip
    for at, name in enumerate(names):
        browser.run("document.getElementById('picked').replaceChildren(); 0")
        press(browser, *settled(browser, f"{figures}[{at}].querySelector('.rows_marks path')"))
        if name == "forest" or name.startswith("more-"):
            assert count(browser, "#picked h3") == 0  # no single cell stands behind such a mark
        else:
            browser.wait("document.querySelector('#picked h3') !== null")
        browser.nothing_went_wrong()


def test_the_tables_below_charts_name_every_single_cell_by_a_button(browser):
    """Rows that are means of cells name none, and rows of a curve name their cell once."""
    for name, value in (("grid-x", "eta_kl"), ("grid-y", "gamma"), ("grid-how", "best"), ("cost-x", "seconds")):
        browser.choose(name, value)
    figures = {"#heat": [12, 12], "#marginal": [6, 6], "#parallel": [12, 12], "#cost": [12, 12], "#residual": [2, 2]}
    figures |= {"#curves figure:first-child": [12, 2]}
    told = {name: [count(browser, f"{name} {one}") for one in ("tbody tr", "button.cell")] for name in figures}
    assert told == figures
    for name in figures:
        shows = f"document.querySelector('{name} button.cell')"
        browser.run("document.getElementById('picked').replaceChildren(); 0")
        browser.run(f"{shows}.click()")
        heading = browser.run("document.querySelector('#picked h3').textContent")
        assert heading.startswith(browser.run(f"{shows}.textContent"))
    browser.choose("grid-how", "mean")
    assert count(browser, "#marginal button.cell") == 0
    browser.choose("grid-how", "best")


def test_a_mark_of_a_chart_without_metrics_follows_the_explorers(browser):
    browser.choose("residual-task", TASKS[0])
    browser.choose("explorer-metric", "lpips_vgg")
    press(browser, *settled(browser, "document.querySelector('#residual .rows_marks path')"))
    browser.wait("document.querySelector('#picked h3')?.textContent.endsWith('with pictures, by lpips_vgg')")
    browser.choose("explorer-metric", "psnr")


def test_dragging_moves_the_axes_the_wheel_with_shift_zooms_and_a_double_click_sets_back(browser):
    ticks = "[...document.querySelectorAll('#cost .role-axis-label text')].map((one) => one.textContent).sort().join()"
    x, y = settled(browser, "document.querySelector('#cost svg')")
    before = browser.run(ticks)
    drag(browser, x, y, 120)
    browser.wait(f"{ticks} !== {before!r}")
    press(browser, x, y, clicks=2)
    browser.wait(f"{ticks} === {before!r}")
    wheel = {"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -300}
    browser.send("Input.dispatchMouseEvent", **wheel, modifiers=SHIFT)
    browser.wait(f"{ticks} !== {before!r}")
    press(browser, x, y, clicks=2)
    browser.wait(f"{ticks} === {before!r}")


def test_the_row_that_was_enlarged_closes_by_its_button(browser):
    browser.run("document.querySelector('#pictures button.tile').click()")
    assert browser.run("document.getElementById('enlarged').open") is True
    press(browser, *settled(browser, "document.querySelector('#enlarged .bar button')"))
    browser.wait("!document.getElementById('enlarged').open")


def test_of_a_metric_without_better_and_worse_no_words_judge(browser):
    browser.choose("explorer-metric", "residual")
    heading = browser.run("document.querySelector('#measurement h3').textContent")
    told = browser.run("document.getElementById('difference').textContent")
    for name, value in (("grid-metric", "residual"), ("grid-x", "eta_kl"), ("grid-y", "gamma")):
        browser.choose(name, value)
    browser.run("[...document.querySelectorAll('#heat button.cell')].find((one) => one.textContent === "
                "'star, eta_kl=0.01, gamma=0.1').click()")  # fmt: skip
    rising = browser.run("document.querySelector('#picked h3').textContent")
    rows = "[...document.querySelectorAll('#measurement tbody tr')]"
    values = browser.run(f"{rows}.map((one) => one.children[3].textContent)")
    browser.choose("explorer-metric", "psnr")
    browser.choose("grid-metric", "psnr")
    assert "by residual, the largest first" in heading
    assert values == sorted(values, key=float, reverse=True)
    assert "; the first is larger on " in told
    assert "least to largest of " in rising
    assert "the best first" in browser.run("document.querySelector('#measurement h3').textContent")


def test_seeds_are_named_and_no_measurements_of_their_own(browser, tmp_path):
    table = score_table(images=6)
    place = table.column_names.index("seed")
    again = table.set_column(place, "seed", pa.array([1] * len(table), table.schema.field("seed").type))
    record = SweepRecord(ScoreTable(pa.concat_tables([table, again])))
    page = tmp_path / "seeds.html"
    page.write_bytes(render_page(Report(Facts("seeds", "out", "p", 288, 288, 0, "", {}), record, wanted=["m003"])))
    browser.open(page)
    assert "over 12 reconstructions of 6 measurements; the first" in text(browser, "difference")
    names = browser.run("[...document.querySelectorAll('#differ h4')].map((one) => one.textContent.split(':')[0])")
    assert len(set(names)) == 9
    assert all(", seed " in name for name in names)
    assert text(browser, "whole") == "Every score is here."


def test_a_page_says_what_it_leaves_out_and_offers_nothing_that_was_asked_for(browser, report, tmp_path, monkeypatch):
    asked = [cell.id for cell in report.record.of_task(report.record.tasks[0])][:2]
    bare = replace(report, pictures=Pictures(), wanted=["m003"], wanted_cells=asked)
    monkeypatch.setattr("eval.report.page.PAGE_BYTES", len(render_page(bare)) - 1)
    page = tmp_path / "bare.html"
    page.write_bytes(render_page(bare))
    browser.open(page)
    told = re.fullmatch(
        r"To bound the size of this page (\d+) of 12 measurements of (.+) are left out here, those without pictures "
        r"first\.", text(browser, "whole")
    )  # fmt: skip
    assert told
    assert f"{told[1]} more measurements did not fit here" in text(browser, "difference")
    assert "Every score is here" not in text(browser, "explorer")
    assert "keeps its scores only; its pictures did not fit." in text(browser, "measurement")
    assert text(browser, "unpictured") == ""
    other = browser.run("[...document.querySelectorAll('#explorer-measurement option')].find((o) => "
                        "o.textContent !== 'm003').value")  # fmt: skip
    browser.choose("explorer-measurement", other)
    assert "g2d2 report with --measurement m" in text(browser, "measurement")
    browser.choose("explorer-b", report.record.of_task(report.record.tasks[0])[2].id)
    assert "g2d2 report with --cells" in text(browser, "unpictured")


def test_the_metrics_of_pictures_follow_their_task(browser, report, tmp_path):
    shown = [row for row in report.pictures.rows if (row.task, row.metric) != ("sr4-32", "psnr")]
    page = tmp_path / "page.html"
    page.write_bytes(render_page(replace(report, pictures=Pictures(shown, report.pictures.images))))
    browser.open(page)
    tasks = report.record.tasks
    assert tasks[1] == "sr4-32"
    offered = "[...document.getElementById('pictures-metric').options].map((one) => one.value)"
    assert browser.run(offered) == ["psnr", "lpips_vgg"]
    browser.choose("pictures-task", "sr4-32")
    assert browser.run(offered) == ["lpips_vgg"]
    assert count(browser, "#pictures .row") == 3
    browser.choose("pictures-task", tasks[0])
    assert browser.run(offered) == ["psnr", "lpips_vgg"]
