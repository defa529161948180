"""`g2d2 report --against` and `--measurement`: what the page holds of another sweep, and what is refused."""

import json
import re

import pytest

from pipelines.manifest import Manifest
from pipelines.report import PAGE, read_report
from pipelines.report.picture_reader import PictureReader
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage import open_store
from pipelines.storage.sweep_folder import SweepFolder
from tests.pipelines.fake_sweep import FakeSweep
from tests.pipelines.sweep_cases import run

SOURCES = 8
PLANTED = 40.0
"""PSNR of the other sweep's star at eta_kl 0.001 on source 5, where this sweep has 26."""


def fake(root, sources=SOURCES, **changes):
    root.mkdir()
    return FakeSweep(root, sources=sources, **changes).write()


def cells(sweep):
    """Ids by label."""
    return {cell.label: cell.id for cell in StoredSweep.read(SweepFolder(sweep.url)).record.cells}


def explored(sweep):
    """What the page's explorer begins with, and all that the page keeps."""
    page = open_store(sweep.url).read_bytes(PAGE).decode()
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    held = json.loads(text)
    return held["explored"][0], held


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory):
    root = tmp_path_factory.mktemp("against")
    return fake(root / "a"), fake(root / "b", psnr={(0.001, "star", 5): PLANTED}), fake(root / "c")


def test_the_page_pairs_the_best_of_both_sweeps_and_finds_the_one_difference(sweeps):
    mine, other, _ = sweeps
    assert run("report", mine.url, "--against", other.url) == 0
    of, held = explored(mine)
    ids = cells(mine)
    assert of["cells"] == {**{ids[label]: label for label in ids}, **{
        f"tiny (2):{ids[label]}": f"tiny (2): {label}" for label in ids}}  # fmt: skip
    a, b = of["best"]
    assert b == f"tiny (2):{ids['star, eta_kl=0.001']}"
    assert a in (ids["star, eta_kl=0.001"], ids["star, eta_kl=0.0003"])  # as good as each other
    (at,) = (at for at, name in enumerate(of["measurements"]) if name.endswith("0005"))
    gaps = [x - y for x, y in zip(of["values"]["psnr"][a], of["values"]["psnr"][b], strict=True)]
    assert [gap for place, gap in enumerate(gaps) if place != at] == [0.0] * (SOURCES - 1)
    assert gaps[at] == 26 - PLANTED
    mean, low, high = of["intervals"]["psnr"][f"{a}|{b}"]
    assert mean == pytest.approx((26 - PLANTED) / SOURCES)
    assert low < mean < high
    name = of["measurements"][at]
    assert {f"truth/{name}", f"y/{name}", f"{a}/{name}/0", f"{b}/{name}/0"} <= held["images"].keys()


def test_sweeps_of_one_name_are_called_as_a_site_calls_them(sweeps):
    mine, *others = sweeps
    assert run("report", mine.url, "--against", *(one.url for one in others)) == 0
    of, _ = explored(mine)
    assert {label.partition(": ")[0] for key, label in of["cells"].items() if ":" in key} == {"tiny (2)", "tiny (3)"}


def test_a_cell_that_is_asked_for_is_held_against_the_other_sweep(sweeps):
    mine, other, _ = sweeps
    markov = cells(mine)["markov, eta_kl=0.0003"]
    assert run("report", mine.url, "--against", other.url, "--cells", markov) == 0
    assert explored(mine)[0]["best"] == [markov, f"tiny (2):{cells(mine)['star, eta_kl=0.001']}"]


def test_a_measurement_that_is_asked_for_has_pictures_of_all_cells_of_both(tmp_path):
    mine, other = (fake(tmp_path / name, sources=24) for name in ("a", "b"))
    assert run("report", mine.url) == 0
    of, before = explored(mine)
    asked = next(name for name in of["measurements"] if f"truth/{name}" not in before["images"])
    assert before["wanted"] == []
    assert run("report", mine.url, "--against", other.url, "--measurement", asked) == 0
    of, held = explored(mine)
    assert held["wanted"] == [asked]
    assert len(of["cells"]) == 8
    assert {f"truth/{asked}", f"y/{asked}", *(f"{cell}/{asked}/0" for cell in of["cells"])} <= held["images"].keys()


def test_measurements_that_are_asked_for_and_do_not_fit_are_named(tmp_path, monkeypatch, capsys):
    mine = fake(tmp_path / "a", sources=24)
    assert run("report", mine.url) == 0
    of, before = explored(mine)
    first, second, third = [name for name in of["measurements"] if f"truth/{name}" not in before["images"]][:3]
    monkeypatch.setattr("pipelines.report.picture_reader.EXPLORER_PICTURES", 2 * len(of["cells"]))
    capsys.readouterr()
    assert run("report", mine.url, "--measurement", first, second, third) == 0
    told = f"pictures of 1 of 3 measurements that --measurement asks for did not fit into the page: {third}."
    assert told in capsys.readouterr().out
    assert told in open_store(mine.url).read_bytes(PAGE).decode()
    _, held = explored(mine)
    assert {f"{cell}/{name}/0" for cell in of["cells"] for name in (first, second)} <= held["images"].keys()
    assert f"{of['best'][0]}/{third}/0" not in held["images"]


def test_pictures_that_are_asked_for_take_the_room_first(tmp_path, monkeypatch):
    """Before those of measurements on which two cells differ most, of which the page has some anyway."""
    planted = {(0.001, "markov", source): 3.0 for source in (10, 11, 12)}
    mine = StoredSweep.read(SweepFolder(fake(tmp_path / "a", sources=24, psnr=planted).url))
    plain = read_report(mine)
    shown = {row.measurement for row in plain.pictures.rows}
    asked = next(name for name in mine.record.scores.table["measurement"].to_pylist() if name not in shown)
    whole = read_report(mine, measurements=[asked]).pictures.images
    gallery = PictureReader(mine.folder, mine.plan, Manifest.open(mine.spec.manifest)).read(mine.record).images
    room = sum(len(content) for key, content in whole.items() if key in gallery or asked in key)
    monkeypatch.setattr("pipelines.report.sweep_report.EXPLORER_BYTES", room)
    report = read_report(mine, measurements=[asked])
    assert {f"{cell.id}/{asked}/0" for cell in mine.record.cells} <= report.pictures.images.keys()
    assert not any("did not fit" in note for note in report.facts.notes)


def test_what_cannot_be_shown_is_refused_in_a_sentence(sweeps, tmp_path, capsys):
    mine = sweeps[0]
    apart = fake(tmp_path / "apart", tasks=["gaussian-deblur-32"])
    assert run("report", mine.url, "--measurement", "nonsense") == 2
    assert "--measurement: 'nonsense' is no measurement of tiny" in capsys.readouterr().err
    assert run("report", mine.url, "--against", apart.url) == 2
    assert f"--against: {apart.url} saw none of the measurements of {mine.url}" in capsys.readouterr().err


@pytest.mark.parametrize("turned", [False, True])
def test_scores_of_another_version_of_the_scorer_are_not_paired(sweeps, tmp_path, capsys, turned):
    old, new = sweeps[0], fake(tmp_path / "new", scorer=3)
    first, second = (new, old) if turned else (old, new)
    assert run("report", first.url, "--against", second.url) == 2
    (sentence,) = capsys.readouterr().err.strip().splitlines()
    assert f"{second.url} was scored by version {second.scorer} of the scorer and {first.url} by version" in sentence
    assert f"`g2d2 score {old.url} --again`" in sentence
