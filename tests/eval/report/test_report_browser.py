"""The page in headless Chromium: no errors, no requests, working controls, readable on a phone."""

import time

import pyarrow as pa
import pytest

from eval.record import SweepRecord
from eval.report import Facts, Report, render_page
from eval.scores import ScoreTable, score_schema
from tests.eval.record.score_cases import TASKS, four_arms
from tests.eval.report.browser import AXE, NEEDS_BROWSER, PATIENCE, caption, count, table

pytestmark = [*NEEDS_BROWSER, pytest.mark.usefixtures("quiet")]


def test_every_chart_is_drawn_with_a_table_beside_it(browser):
    for name in ("heat", "marginal", "parallel", "curves figure"):
        assert browser.run(f"document.querySelector('#{name} svg[role]').getBoundingClientRect().width") > 200
        assert len(table(browser, f"#{name}")) > 1
    assert len(table(browser, "#forest")) == 4
    assert count(browser, "#more-1 figure[data-chart] .rows_marks path") == 2
    assert count(browser, "#snapshots img") == 4
    assert "m000, 2 of 30 levels;" in browser.run("document.querySelector('#snapshots h3').textContent")


def test_the_heat_map_follows_its_controls(browser):
    assert len(table(browser, "#heat")) == 12
    before = table(browser, "#heat")
    browser.choose("grid-metric", "lpips_vgg")
    assert table(browser, "#heat") != before
    browser.choose("grid-arm", "star")
    assert {line[0] for line in table(browser, "#heat")} == {"star"}
    browser.choose("grid-x", "gamma")
    assert browser.run("document.getElementById('grid-y').value") != "gamma"
    browser.choose("grid-arm", "side by side")
    browser.choose("grid-y", "arm")
    browser.choose("grid-how", "mean")
    assert "mean over eta_kl" in caption(browser, "#heat")
    assert {line[-1] for line in table(browser, "#heat")} == {"mean of 3 cells"}


def test_the_best_tile_is_the_best_cell_and_shows_its_pictures(browser):
    for name, value in (("grid-metric", "psnr"), ("grid-x", "eta_kl"), ("grid-y", "gamma"), ("grid-how", "best")):
        browser.choose(name, value)
    best = max(table(browser, "#heat"), key=lambda line: float(line[3]))
    assert [best[0], *map(float, best[1:3])] == ["star", 0.01, 0.1]
    assert best[-1] == "star, eta_kl=0.01, gamma=0.1"
    browser.run("[...document.querySelectorAll('#heat button.cell')].find((b) => b.textContent === "
                "'star, eta_kl=0.01, gamma=0.1').click()")  # fmt: skip
    assert "star, eta_kl=0.01, gamma=0.1" in browser.run("document.querySelector('#picked h3').textContent")
    assert count(browser, "#picked img") > 2


def test_pressing_a_tile_shows_its_pictures_and_pointing_its_settings(browser):
    browser.run(
        "document.querySelector('#heat .rows_marks path').scrollIntoView({block: 'center', behavior: 'instant'})"
    )
    middle = """(() => {
        const area = document.querySelectorAll('#heat .rows_marks path')[1].getBoundingClientRect();
        return [area.left + area.width / 2, area.top + area.height / 2];
    })()"""
    end = time.monotonic() + PATIENCE
    while not browser.run("document.querySelector('.tip').textContent").startswith(
        "eta_kl "
    ):  # charts above may move it
        assert time.monotonic() < end
        x, y = browser.run(middle)
        browser.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    cell = browser.run("document.querySelector('.tip').textContent").splitlines()[1]
    for kind in ("mousePressed", "mouseReleased"):
        browser.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    browser.wait(f"document.querySelector('#picked h3')?.textContent.startsWith({cell!r} + ',')")


def test_of_a_metric_without_better_and_worse_the_mean_is_shown(browser):
    """The residual is 1.1 at gamma 0.1 and 2 at gamma 1: the largest is as little best as the smallest."""
    browser.choose("grid-how", "best")
    browser.choose("grid-metric", "residual")
    browser.choose("grid-y", "arm")
    assert "mean over gamma" in caption(browser, "#heat")
    assert "mean over gamma" in caption(browser, "#marginal")
    assert {line[2] for line in table(browser, "#heat")} == {"1.550"}
    assert browser.run("document.getElementById('grid-how').disabled") is True
    browser.choose("grid-metric", "psnr")
    assert browser.run("document.getElementById('grid-how').value") == "best"
    browser.choose("grid-y", "gamma")


def test_a_measurement_is_shown_over_all_cells_the_best_first(browser):
    values = "[...document.querySelectorAll('#measurement .tiles .value')].map((n) => Number(n.textContent.slice(5)))"
    shown = browser.run(values)
    assert len(shown) == 12
    assert shown == sorted(shown, reverse=True)
    before = browser.run("document.querySelector('#measurement h3').textContent")
    browser.choose("explorer-measurement", "5")
    assert browser.run("document.querySelector('#measurement h3').textContent") != before
    browser.choose("explorer-metric", "lpips_vgg")
    first = browser.run("document.querySelector('#measurement tbody th').textContent")
    assert first.startswith("star")
    browser.choose("explorer-metric", "psnr")


def test_the_explorer_begins_with_pictures_and_folds_measurements_without(browser):
    groups = "[...document.querySelectorAll('#explorer-measurement optgroup')]"
    assert browser.run(f"{groups}.map((node) => node.label)") == ["with pictures", "scores only"]
    for group, pictured in ((1, False), (0, True)):
        browser.choose("explorer-measurement", browser.run(f"{groups}[{group}].querySelector('option').value"))
        assert (count(browser, "#measurement img") > 0) is pictured
        assert browser.run("document.querySelector('#measurement details').open") is not pictured
        assert ("--measurement m" in browser.run("document.querySelector('#measurement').textContent")) is not pictured
        browser.run("document.querySelector('#measurement details').open = false")


def test_two_cells_are_shown_where_they_differ_most(browser):
    options = browser.run("[...document.getElementById('explorer-a').options].map((o) => [o.value, o.textContent])")
    chosen = {text: value for value, text in options}
    browser.choose("explorer-a", chosen["star, eta_kl=0.01, gamma=0.1"])
    browser.choose("explorer-b", chosen["markov, eta_kl=0.1, gamma=1"])
    told = browser.run("document.getElementById('difference').textContent")
    assert "+" in told
    assert "over 12 measurements; the first is better on 12, the second on 0." in told
    gaps = browser.run("[...document.querySelectorAll('#differ h4')].map((n) => Number(n.textContent.split(': ')[1]))")
    assert len(gaps) == 9
    assert gaps == sorted(gaps, reverse=True)


def test_pictures_follow_their_controls_and_enlarge_by_keyboard(browser):
    assert count(browser, "#pictures .row") == 3
    browser.choose("pictures-kind", "worst")
    assert count(browser, "#pictures .row") == 1
    browser.run("document.querySelector('#pictures button.tile').focus()")
    browser.press("Enter")
    assert browser.run("document.getElementById('enlarged').open") is True
    assert count(browser, "#enlarged img") > 2
    browser.press("Escape")
    browser.wait("!document.getElementById('enlarged').open")
    browser.choose("pictures-kind", "all")


def test_pointing_enlarges_the_same_spot_of_the_whole_row(browser):
    middle = """(() => {
        const frame = document.querySelector('#pictures .frame');
        frame.scrollIntoView({block: 'center', behavior: 'instant'});
        const area = frame.getBoundingClientRect();
        return [area.left + area.width / 2, area.top + area.height / 2];
    })()"""
    zoomed = "document.querySelector('#pictures .tiles').classList.contains('zoomed')"
    end = time.monotonic() + PATIENCE
    while not browser.run(zoomed):  # charts above may still find their height and move the row from under the pointer
        assert time.monotonic() < end
        x, y = browser.run(middle)
        browser.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    assert count(browser, "#pictures .zoomed") == 1
    assert browser.run("getComputedStyle(document.querySelector('#pictures .zoomed img')).transform") != "none"


def test_the_scatter_and_the_curves_change_with_their_controls(browser):
    assert "yes" in {line[-1] for line in table(browser, "#cost")}
    browser.choose("cost-x", "residual")
    assert "what the noise alone gives" in caption(browser, "#cost")
    captions = "[...document.querySelectorAll('#curves figcaption')].map((node) => node.textContent)"
    assert [text.split(" while ")[0] for text in browser.run(captions)] == ["total", "kl", "remasked"]
    browser.choose("trace-task", TASKS[0])
    assert all(TASKS[0] in text for text in browser.run(captions))


LINES = "[...document.querySelectorAll('{} .mark-line path')]"


def test_a_line_stops_at_a_gap_and_a_mark_is_no_line(browser):
    paths = browser.run(LINES.format("#more-2") + ".map((p) => p.getAttribute('d'))")
    assert len(paths) == 7
    assert {(path.count("M"), path.count("L")) for path in paths} == {(2, 2)}
    assert count(browser, "#more-2 .rings_marks path") == 1


def test_lines_without_an_arm_keep_off_its_colours_and_differ_from_each_other(browser):
    look = ".map((node) => [getComputedStyle(node).stroke, getComputedStyle(node).strokeDasharray])"
    lines = browser.run(LINES.format("#more-2") + look)
    named = browser.run(LINES.format("#more-1") + look) + browser.run(LINES.format("#more-3") + look)
    assert len({tuple(line) for line in lines}) == 7
    assert len(named) == 2
    assert not {colour for colour, _ in named} & {colour for colour, _ in lines}
    assert browser.run("getComputedStyle(document.querySelector('#more-2 .rings_marks path')).stroke") == lines[1][0]


def test_the_theme_can_be_chosen(browser):
    colour = "getComputedStyle(document.body).backgroundColor"
    browser.choose("theme", "dark")
    dark = browser.run(colour)
    browser.choose("theme", "light")
    assert browser.run(colour) != dark
    browser.choose("theme", "auto")


def test_controls_have_labels_and_pictures_a_name(browser):
    assert browser.run("[...document.querySelectorAll('select')].every((s) => s.labels.length === 1)")
    assert browser.run("[...document.querySelectorAll('svg')].every((s) => s.getAttribute('aria-label'))")
    assert browser.run("[...document.querySelectorAll('button')].every((b) => b.textContent || b.ariaLabel)")
    assert count(browser, "svg [role]:not([aria-label], [role=presentation], [role=graphics-object])") == 0
    assert browser.run("document.documentElement.lang") == "en"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_to_object_to(browser, width, theme):
    browser.size(width, 900)
    browser.choose("theme", theme)
    browser.run(AXE.read_text(encoding="utf-8") + ";0")
    violations = "r.violations.map((v) => [v.id, v.nodes.map((node) => node.html.slice(0, 200))])"
    assert browser.run(f"axe.run().then((r) => {violations})") == []
    browser.choose("theme", "auto")
    browser.size(1280, 900)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_screen_reader_is_told_the_name_of_all_it_can_reach(browser, width):
    browser.size(width, 900)
    nodes = browser.send("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "combobox", "link", "image", "img", "dialog", "DisclosureTriangle"}
    reached = [node for node in nodes if not node["ignored"] and node["role"]["value"] in roles]
    assert {"button", "combobox", "link"} <= {node["role"]["value"] for node in reached}
    assert [node for node in reached if not node.get("name", {}).get("value")] == []
    browser.size(1280, 900)


def test_a_button_can_be_called_by_what_it_shows(browser):
    """Who steers by voice says the words on the button; its name must begin with them."""
    named = """[...document.querySelectorAll('button[aria-label]')].map((button) => [
        button.ariaLabel, [...button.querySelectorAll(':scope > span')].map((s) => s.textContent).filter(Boolean)])"""
    found = browser.run(named)
    assert found
    assert [name for name, seen in found if not name.startswith(" ".join(seen))] == []


def test_a_phone_needs_no_sideways_scrolling(browser):
    browser.size(390, 844, phone=True)
    browser.wait("document.querySelector('#heat svg').getBoundingClientRect().width <= 390")
    assert browser.run("document.documentElement.scrollWidth") <= 390
    browser.size(1280, 900)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_costs_are_seen_beside_quality_where_there_are_three_metrics(browser, tmp_path, theme):
    table = four_arms(images=8)
    more = {"ssim": 0.7123, "prior_calls": 100.0, "decoder_calls": 3000.0, "peak_bytes": 1.5 * 2**30}
    table = table.replace_schema_metadata(None)
    for name, value in more.items():
        table = table.append_column(name, pa.array([value] * len(table)))
    names = ["psnr", "lpips_vgg", "ssim", "residual", "seconds", "prior_calls", "decoder_calls", "peak_bytes"]
    kinds = {name: table.schema.field(name).type for name in ("task", "arm", "method", "prior", "eta_kl", "noise")}
    schema = score_schema(names, kinds)
    record = SweepRecord(ScoreTable(table.select(schema.names).cast(schema)), compare="markov")
    (tmp_path / "wide.html").write_bytes(render_page(Report(Facts("wide", "out", "p", 144, 144, 0, "", {}), record)))
    browser.open(tmp_path / "wide.html")
    browser.choose("theme", theme)
    inside = """(() => {
        const box = document.querySelector('#leaderboard .scroll').getBoundingClientRect();
        const heads = [...document.querySelectorAll('#leaderboard thead th')];
        return heads.filter((one) => one.getBoundingClientRect().right <= box.right).map((one) => one.textContent);
    })()"""
    assert {"arm", "psnr ↑", "minus markov", "calls", "s/image", "GiB"} <= set(browser.run(inside))
    below = """(() => {
        const entry = document.querySelector('#leaderboard td:has(.interval)');
        const interval = entry.querySelector('.interval').getBoundingClientRect();
        return interval.top - entry.getBoundingClientRect().top;
    })()"""
    assert browser.run(below) > 15
    browser.choose("theme", "auto")


def test_a_page_of_four_arms_draws_each_in_its_own_colour_and_shape(browser, tmp_path):
    record = SweepRecord(
        ScoreTable(four_arms(images=8)), arms=["star", "markov", "wiener", "bicubic"], compare="markov"
    )
    (tmp_path / "four.html").write_bytes(render_page(Report(Facts("four", "out", "p", 144, 144, 0, "", {}), record)))
    browser.open(tmp_path / "four.html")
    assert len(table(browser, "#forest")) == 3 * 2 * 2
    assert browser.run("document.getElementById('grid-y').value") == "arm"  # no arm has both settings
    look = ".map((node) => [getComputedStyle(node).stroke, getComputedStyle(node).strokeDasharray].join())"
    assert len(set(browser.run(LINES.format("#marginal") + look))) == 4  # an arm without the setting is level along it
    browser.choose("grid-y", "noise")
    assert caption(browser, "#heat").endswith("no cell has values here")
    browser.size(390, 844, phone=True)
    assert browser.run("document.documentElement.scrollWidth") <= 390
    browser.size(1280, 900)
