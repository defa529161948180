"""The index of a site in headless Chromium: no errors, no requests, and nothing that axe objects to."""

import pytest

from pipelines.site import build_site
from tests.eval.report.browser import AXE, NEEDS_BROWSER, Browser, count
from tests.pipelines.fake_sweep import FakeSweep
from tests.pipelines.site.test_site_command import nights_in

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """At the index of two sweeps and some nights."""
    root = tmp_path_factory.mktemp("site")
    for name in ("a", "b"):
        (root / name).mkdir()
    sweeps = [FakeSweep(root / name, sources=9, eta_kl=[0.001]).write().url for name in ("a", "b")]
    build_site(sweeps, str(root / "site"), nights=[nights_in(root / "nightly").url])
    browser = Browser(root / "profile")
    try:
        browser.size(1280, 900)
        browser.open(root / "site" / "index.html")
        yield browser
        browser.nothing_went_wrong()
    finally:
        browser.close()


def test_the_index_draws_its_trend_and_lists_all_pages(browser):
    assert browser.run("document.querySelector('figure[data-chart] svg').getBoundingClientRect().width") > 200
    assert count(browser, "main table a[href]") == 2 + 4
    browser.nothing_went_wrong()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_to_object_to_in_an_index(browser, width, theme):
    browser.size(width, 900)
    browser.choose("theme", theme)
    browser.run(AXE.read_text(encoding="utf-8") + ";0")
    violations = "r.violations.map((v) => [v.id, v.nodes.map((node) => node.html.slice(0, 200))])"
    assert browser.run(f"axe.run().then((r) => {violations})") == []
    browser.nothing_went_wrong()


def test_a_link_leads_to_a_sweeps_page_and_back(browser):
    browser.size(1280, 900)
    for link, title in (("main table a[href^=sweeps]", "tiny"), (".sweep a", "Sweeps")):
        browser.run(f"document.querySelector({link!r}).click()")
        browser.wait(f"document.querySelector('.sweep strong')?.textContent === {title!r}")
        browser.wait("document.documentElement.dataset.ready === 'true'")
        browser.nothing_went_wrong()
