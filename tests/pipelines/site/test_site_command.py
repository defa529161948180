"""`g2d2 site`: sweeps compared on what they share, nights over time, and nothing touched that it did not write."""

import html
import json
import re
import uuid

import pytest

from eval.record.leaderboard import leaderboard
from pipelines.nightly.folder import NightlyFolder
from pipelines.plan.race_record import read_plan
from pipelines.report import render_sweep
from pipelines.score.stored_sweep import StoredSweep
from pipelines.site import build_site
from pipelines.storage import open_store
from pipelines.storage.sweep_folder import SweepFolder
from tests.pipelines.fake_sweep import FakeSweep
from tests.pipelines.nightly.night_cases import level, night, score_table
from tests.pipelines.sweep_cases import run

SOURCES = 9


def fake(root, **changes):
    root.mkdir()
    return FakeSweep(root, sources=SOURCES, eta_kl=[0.001], **changes).write()


def nights_in(folder, count=4):
    kept = NightlyFolder(str(folder), "n")
    for day in range(1, count + 1):
        called, mean = f"2026-11-{day:02d}", 23.0 + 0.1 * day
        verdicts = {"outcome": "regressed", "verdicts": {"regressed": 1, "passed": 2}} if day == count else {}
        kept.write_night(night(called, {"psnr": level(mean, mean - 0.5, mean + 0.5)}, **verdicts), score_table())
        kept.write(called, "report.html", f"<!doctype html><title>{called}</title>".encode())
    return kept


def site(folder, *urls, **words):
    return build_site(urls, str(folder), **words)


def index(folder):
    return (folder / "index.html").read_text().split('<script type="application/json"')[0]


def rows(page, caption):
    """Entries of the table with this caption."""
    part = next(one for one in page.split("<table>") if f"<caption><span>{caption}" in one).partition("</table>")[0]
    lines = re.findall(r"<tr.*?</tr>", part, re.DOTALL)
    return [
        [html.unescape(re.sub("<.*?>", "", one)) for one in re.findall(r"<t[hd].*?</t[hd]>", line)] for line in lines
    ]


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory):
    """Two on the same nine measurements, the second 0.4 dB better and the same in its names; one on others."""
    root = tmp_path_factory.mktemp("sweeps")
    shifted = {(0.001, "star", i): 21.4 + i + 0.01 * (i % 3) for i in range(SOURCES)}
    return [
        fake(root / "a"),
        fake(root / "b", psnr=shifted, process=["star"]),
        fake(root / "c", tasks=["gaussian-deblur-32"]),
    ]


def test_sweeps_on_the_same_measurements_share_a_leaderboard_and_others_have_their_own(sweeps, tmp_path, capsys):
    assert run("site", *(one.url for one in sweeps), "--out", tmp_path / "site") == 0
    assert "4 pages written" in capsys.readouterr().out
    page = index(tmp_path / "site")
    (header, *lines), own = rows(page, "Every arm")[:4], page.partition("By itself: tiny (3)")[2]
    assert [line[0] for line in lines] == ["tiny (2)", "tiny/star", "tiny/markov"]
    at = header.index("minus tiny/markov")
    assert [line[at] for line in lines[1:]] == ["+1.000 [1.000, 1.000]", "baseline"]
    assert lines[0][at].startswith("+1.4")
    assert "Only what all of these sweeps saw: sr4-32 on 9 measurements." in page
    assert "No other sweep here saw gaussian-deblur-32 on the same measurements" in own
    record = StoredSweep.read(SweepFolder(sweeps[2].url)).record
    assert rows(own, "Every arm")[1:] == leaderboard(record).narrowed.rows


def test_links_are_relative_and_lead_to_pages_that_lead_back(sweeps, tmp_path):
    built = site(tmp_path, *(one.url for one in sweeps[:2]), nights=[nights_in(tmp_path / "nightly").url])
    links = re.findall(r'<a href="([^#"]+)"', index(tmp_path))
    assert set(links) == {one.page for one in built.sweeps} | set(built.nights[0].pages.values())
    assert len(links) == 6
    assert all((tmp_path / one).is_file() for one in links)
    page = tmp_path / built.sweeps[0].page
    assert '<a href="../../index.html">All sweeps</a>' in page.read_text()
    assert (page.parent / "../../index.html").resolve() == (tmp_path / "index.html").resolve()


def test_the_baseline_can_be_named(sweeps, tmp_path, capsys):
    urls = [one.url for one in sweeps[:2]]
    site(tmp_path / "s", *urls, baseline="tiny (2)")
    assert "Differences are to tiny (2), paired by measurement and seed." in index(tmp_path / "s")
    assert run("site", *urls, "--out", tmp_path / "t", "--baseline", "tiny/stra") == 2
    assert "'tiny/stra' is no sweep or arm here; there are tiny, tiny/star, tiny/markov" in capsys.readouterr().err


def test_a_trial_of_few_images_does_not_shrink_the_comparison_of_the_others(sweeps, tmp_path):
    few = FakeSweep(tmp_path / "few", sources=3, eta_kl=[0.001])
    few.root.mkdir()
    site(tmp_path / "site", sweeps[0].url, sweeps[1].url, few.write().url)
    page = index(tmp_path / "site")
    assert "On the same measurements: tiny, tiny (2)<" in page
    assert "sr4-32 on 9 measurements." in page
    assert "By itself: tiny (3)" in page


def test_only_common_measurements_are_compared(sweeps, tmp_path):
    most = FakeSweep(tmp_path / "most", sources=6, eta_kl=[0.001])
    most.root.mkdir()
    site(tmp_path / "site", sweeps[0].url, most.write().url)
    page = index(tmp_path / "site")
    assert "sr4-32 on 6 measurements (tiny saw 9)." in page
    means = {line[0]: line[1] for line in rows(page, "Every arm")[1:5]}
    assert means["tiny/star"] == means["tiny (2)/star"]
    assert means["tiny/star"].startswith("23.50 ")  # 21 + the mean of 0 to 5


def test_broken_and_half_done_sweeps_are_told_and_stop_nobody(sweeps, tmp_path, capsys):
    half = fake(tmp_path / "half")
    folder = SweepFolder(half.url)
    summary = folder.read_summary()
    name = folder.table_name(summary["plan"], summary["scoring"])
    scores, shard = folder.store.read_table(name), read_plan(folder).shards[0]
    folder.store.delete(name)
    folder.store.write_table(folder.scores_name(summary["scoring"], shard.name), scores.slice(0, shard.count))
    broken = fake(tmp_path / "broken")
    (tmp_path / "broken" / "out" / "sweep.json").write_text("{")
    urls = [sweeps[0].url, half.url, broken.url, str(tmp_path / "nowhere")]
    assert run("site", *urls, "--out", tmp_path / "site", "--json") == 1
    told = json.loads(capsys.readouterr().out)
    problems = [one["problem"] for one in told["sweeps"]]
    assert problems[0] == ""
    assert problems[1].startswith("13 of 18 work items missing, so it is on no leaderboard")
    assert "sweep.json" in problems[2]
    assert "there is no sweep here" in problems[3]
    page = html.unescape(index(tmp_path / "site"))
    assert all(problem in page for problem in problems)
    assert [bool(one["page"]) for one in told["sweeps"]] == [True, True, False, False]
    assert "3 of 4 not whole" in page
    assert run("site", str(tmp_path / "nowhere"), "--out", tmp_path / "no") == 2
    assert "nothing can be shown: sweep" in capsys.readouterr().err
    assert not (tmp_path / "no" / "index.html").exists()


def test_nights_are_a_trend_with_verdicts_and_pages(tmp_path):
    nights = nights_in(tmp_path / "nightly")
    built = site(tmp_path / "site", nights.url, last=3)  # among the sweeps: it is seen what it is
    assert built.sweeps == []
    page = index(tmp_path / "site")
    lines = rows(page, "Nights")
    assert [line[0] for line in lines[1:]] == ["2026-11-04", "2026-11-03", "2026-11-02"]
    assert lines[1][1:3] == ["regressed", "1 regressed, 2 passed"]
    chart = json.loads(html.unescape(re.search(r'data-chart="(.*?)"', page)[1]))
    drawn = [(one["x"], one["y"], one["low"], one["high"]) for one in chart["data"]["values"]]
    assert drawn[0] == ("2026-11-02", 23.2, 22.7, 23.7)
    assert (tmp_path / "site" / built.nights[0].pages["2026-11-03"]).read_text().endswith("2026-11-03</title>")


def test_a_second_run_updates_and_leaves_the_files_of_others(sweeps, tmp_path):
    out = tmp_path / "site"
    site(out, sweeps[0].url, sweeps[2].url)
    (out / "sweeps" / "notes.txt").write_text("mine")
    (out / "robots.txt").write_text("mine")
    again = site(out, sweeps[0].url, sweeps[2].url)
    assert (again.files.written, len(again.files.unchanged)) == ([], 3)
    fewer = site(out, sweeps[0].url)
    assert (fewer.files.written, fewer.files.removed) == (["index.html"], ["sweeps/tiny-2/index.html"])
    assert (out / "sweeps" / "notes.txt").read_text() == (out / "robots.txt").read_text() == "mine"


def test_files_of_others_and_sweeps_are_never_replaced(sweeps, tmp_path, capsys):
    (tmp_path / "index.html").write_text("mine")
    assert run("site", sweeps[0].url, "--out", tmp_path) == 2
    assert "index.html was not written by `g2d2 site`" in capsys.readouterr().err
    assert (tmp_path / "index.html").read_text() == "mine"
    assert run("site", sweeps[0].url, "--out", sweeps[0].url) == 2
    assert "is a sweep's own folder" in capsys.readouterr().err


def test_a_night_that_was_rendered_leads_back_too(sweeps, tmp_path):
    sweep = StoredSweep.read(SweepFolder(sweeps[0].url))
    nights, page = nights_in(tmp_path / "nightly"), render_sweep(sweep)
    nights.write("2026-11-02", "report.html", page)
    built = site(tmp_path / "site", nights=[nights.url])
    copied = (tmp_path / "site" / built.nights[0].pages["2026-11-02"]).read_bytes()
    assert copied == render_sweep(sweep, home="../../index.html") != page


def test_a_site_in_a_bucket_is_the_same_as_on_disk(sweeps, tmp_path, s3_env):
    bucket = open_store(f"s3://g2d2/{uuid.uuid4().hex}")
    for target in (bucket.url(), tmp_path / "site"):
        assert run("site", *(one.url for one in sweeps[:2]), "--out", target) == 0
    names = {str(one.relative_to(tmp_path / "site")) for one in (tmp_path / "site").rglob("*") if one.is_file()}
    assert {"index.html", "sweeps/tiny/index.html", "sweeps/tiny-2/index.html"} <= names == set(bucket.list())
    assert all(bucket.read_bytes(name) == (tmp_path / "site" / name).read_bytes() for name in names)
    assert run("site", sweeps[0].url, "--out", bucket.url()) == 0
    assert not bucket.exists("sweeps/tiny-2/index.html")


@pytest.mark.parametrize(("words", "told"), [([], "SWEEP is missing"), (["x", "--last", "0"], "--last is 0")])
def test_what_cannot_be_is_refused_in_a_sentence(words, told, tmp_path, capsys):
    assert run("site", *words, "--out", tmp_path) == 2
    assert told in capsys.readouterr().err
