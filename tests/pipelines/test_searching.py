"""Searches through the whole road: batches on measurements of their own, the same however they are interrupted."""

import json
import shutil
from types import SimpleNamespace

import pyarrow as pa
import pytest
import yaml

from operators import InputError
from pipelines import searching
from pipelines.notebook.opened_sweep import Sweep
from pipelines.plan import proposals
from pipelines.plan.planned_items import PlannedItems
from pipelines.plan.search_record import Batch
from pipelines.plan.sweep_spec import load_spec
from pipelines.report import render_sweep
from pipelines.schemas import SOLVED_SCHEMA
from pipelines.score.stored_sweep import StoredSweep
from pipelines.searching import Told, run_search
from pipelines.storage.sweep_folder import SweepFolder
from tests.pipelines.sweep_cases import build_manifest, run


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    return build_manifest(tmp_path_factory.mktemp("searched"), pictures=60)


def spec_file(folder, manifest, output, **changes):
    values = {
        "name": "search",
        "manifest": manifest,
        "output": str(output),
        "solver": {"method": "wiener"},
        "grid": {"search": {"noise_to_signal": {"log": [0.0001, 100]}}, "trials": 12, "batch": 4},
        "race": {"confirm": 12, "round": 4, "bound": {"psnr": 2}, "seed": 1},
        "metrics": ["psnr", "residual"],
        "tracking": {"enabled": False},
        "resources": {"shard": 4, "devices": 1},
    } | changes
    path = folder / "search.yaml"
    path.write_text(yaml.safe_dump(values, sort_keys=False))
    return path


@pytest.fixture(scope="module")
def searched(local_ray, manifest, tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    assert run("sweep", spec_file(folder, manifest, folder / "out")) == 0
    return folder / "out"


def kept(output):
    """All that is decided, by file: proposals, trials and races."""
    return {
        str(path.relative_to(output)): path.read_bytes() for path in sorted(output.rglob("*.json"))
        if path.parts[-3] == "search" or path.parts[-2] == "race"
    }  # fmt: skip


def batches(output):
    (folder,) = (output / "search").iterdir()
    return [json.loads((folder / f"{number}.json").read_text()) for number in range(3)]


def trials(output):
    return StoredSweep.read(SweepFolder(str(output))).search


def test_a_search_finds_better_cells_than_its_random_first_batch(searched):
    search = trials(searched)
    assert (search.batches, len(search.trials)) == (3, 12)
    (leader,) = [one for one in search.trials if one.settings == search.leader]
    assert leader.batch > 1
    assert all(one.behind > 0 for one in search.trials if one.batch == 1)


def test_no_cell_races_on_measurements_from_whose_scores_it_was_proposed(searched):
    folder = SweepFolder(str(searched))
    plans = [path.stem for path in (searched / "race").iterdir()]
    met = [set(PlannedItems(folder, plan).table["measurement_digest"].to_pylist()) for plan in plans]
    assert sorted(map(len, met)) == [16, 16, 28]
    assert len(set().union(*met)) == 60
    later = [{cell.id for cell in folder.cells(plan)} for plan in plans]
    assert sum(map(len, later)) == sum(len(one["stayed"]) + len(one["proposed"]) for one in batches(searched))


def test_who_stayed_goes_on_and_who_left_does_not(searched):
    first, second, third = batches(searched)
    assert not first["stayed"]
    assert all(point in first["proposed"] for point in second["stayed"])
    assert all(point in second["stayed"] + second["proposed"] for point in third["stayed"])
    gone = [one.settings for one in trials(searched).trials if one.left is not None and one.left < 3]
    assert gone
    assert not any(point in third["stayed"] for point in gone)
    assert first["by"].startswith("optuna ")


def test_a_search_that_is_over_costs_nothing_when_it_is_run_again_and_needs_no_optuna(
    searched, manifest, tmp_path, monkeypatch
):
    before, solved = kept(searched), {path: path.stat().st_mtime_ns for path in (searched / "solved").iterdir()}
    monkeypatch.setattr(proposals, "propose", None)
    result = run_search(load_spec(spec_file(tmp_path, manifest, searched)))
    assert result.counts.complete
    assert {path: path.stat().st_mtime_ns for path in (searched / "solved").iterdir()} == solved
    assert kept(searched) == before


@pytest.mark.slow
def test_a_driver_that_is_killed_between_batches_and_files_that_are_lost_change_no_proposal(
    local_ray, searched, manifest, tmp_path, monkeypatch
):
    output = tmp_path / "out"
    path = spec_file(tmp_path, manifest, output)
    sweep, calls = searching.run_sweep, []

    def killed(*words):
        calls.append(words)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return sweep(*words)

    monkeypatch.setattr(searching, "run_sweep", killed)
    with pytest.raises(KeyboardInterrupt):
        run_search(load_spec(path))
    monkeypatch.undo()
    (search,) = (output / "search").iterdir()
    (search / "1.json").unlink()
    for place, lost in enumerate(sorted((output / "solved").iterdir())):
        if place % 3 == 0:
            lost.unlink()
    assert run("status", output) == 0  # of the batch that is there
    assert run("sweep", path) == 0
    assert kept(output) == kept(searched)


def test_what_was_proposed_holds_whatever_another_version_would_propose(searched, manifest, tmp_path, monkeypatch):
    copy = tmp_path / "out"
    shutil.copytree(searched, copy)
    monkeypatch.setattr(proposals, "propose", lambda *words: [{"noise_to_signal": 50.0}])
    assert run("plan", spec_file(tmp_path, manifest, copy), "--no-calibration") == 0
    assert batches(copy) == batches(searched)


def test_a_batch_that_was_changed_is_refused_by_name(searched, manifest, tmp_path):
    copy = tmp_path / "out"
    shutil.copytree(searched, copy)
    (search,) = (copy / "search").iterdir()
    content = json.loads((search / "1.json").read_text())
    (search / "1.json").write_text(json.dumps(content | {"stayed": [{"noise_to_signal": 77.0}]}))
    with pytest.raises(InputError, match=r"1\.json: it goes on with cells that no batch before it proposed"):
        run_search(load_spec(spec_file(tmp_path, manifest, copy)))


def test_who_is_unbeaten_goes_on_in_the_next_batch_that_is_not_proposed_yet():
    a, b, c, d = ({"x": number} for number in range(4))
    told = Told("psnr")

    def take(batch, inside):
        cells = [SimpleNamespace(id=str(point["x"])) for point in batch.points]
        runners = [
            SimpleNamespace(cell=str(point["x"]), left_after=None if point in inside else 1) for point in batch.points
        ]
        standing = [runner for runner in runners if runner.left_after is None]
        heat = SimpleNamespace(runners=runners, inside=standing, leader=standing[0].cell)
        told.take(batch, heat, SimpleNamespace(plan=SimpleNamespace(cells=cells), scores=SimpleNamespace(cells=list)))

    take(Batch(stayed=[], proposed=[a, b], by="optuna"), [a, b])
    take(Batch(stayed=[a], proposed=[c], by="optuna"), [a])  # proposed when b had left
    assert told.stayed == [b, a]
    (sentence,) = told.missed()
    assert sentence.startswith("search: x=1 is unbeaten now that failed rows were solved again, but batch 2 had been")
    take(Batch(stayed=told.stayed, proposed=[d], by="optuna"), [b])
    assert (told.stayed, told.missed()) == ([b], [])


def fail(output, settings, plan):
    """All rows of a cell in one batch, as if its reconstructions had not been finite."""
    folder = SweepFolder(str(output))
    items = set(PlannedItems(folder, plan).table["item"].to_pylist())
    for shard in folder.solved_shards():
        rows = folder.read_solved(shard).to_pylist()
        if rows[0]["item"] in items and json.loads(rows[0]["settings"]).items() >= settings.items():
            failed = [row | {"error": "it failed", "image": None} for row in rows]
            folder.store.write_table(folder.solved_name(shard), pa.Table.from_pylist(failed, schema=SOLVED_SCHEMA))
            for scored in output.rglob(f"{shard}*"):
                if "scores" in scored.parts:
                    scored.unlink()


@pytest.mark.slow
def test_a_cell_whose_failed_rows_are_solved_again_goes_on_where_a_batch_is_left_and_is_named_where_none_is(
    local_ray, searched, manifest, tmp_path, capsys
):
    output = tmp_path / "out"
    shutil.copytree(searched, output)
    path, (search,) = spec_file(tmp_path, manifest, output), (output / "search").iterdir()
    first, second, _ = batches(output)
    point = second["stayed"][0]
    proposed = {one["noise_to_signal"] for one in first["proposed"]}
    (plan,) = (
        race.stem for race in (output / "race").iterdir()
        if {cell.settings["noise_to_signal"] for cell in SweepFolder(str(output)).cells(race.stem)} == proposed
    )  # fmt: skip
    fail(output, point, plan)
    for number in (1, 2):
        (search / f"{number}.json").unlink()
    run("sweep", path)
    assert point not in batches(output)[1]["stayed"] + batches(output)[2]["stayed"]
    assert next(one for one in trials(output).trials if one.settings == point).left == 1

    late = tmp_path / "late"
    shutil.copytree(output, late)
    capsys.readouterr()
    assert run("sweep", path, "--retry-failed") == 0
    words = (
        f"noise_to_signal={point['noise_to_signal']:g} is unbeaten now that failed rows were solved again, but batch 2"
    )
    assert words in capsys.readouterr().err
    (missing,) = [one for one in trials(output).trials if one.missing_since is not None]
    assert (missing.settings, missing.left, missing.missing_since) == (point, None, 2)
    assert trials(output).sentence.endswith(", 1 unbeaten but missing in later batches")
    assert "unbeaten, missing since batch 2" in render_sweep(Sweep.open(output).stored).decode()

    (late / "search" / search.name / "2.json").unlink()
    assert run("sweep", spec_file(tmp_path, manifest, late), "--retry-failed") == 0
    assert point not in batches(late)[1]["stayed"]
    assert point in batches(late)[2]["stayed"]
    assert all(one.missing_since is None for one in trials(late).trials)


def test_status_page_terminal_and_python_tell_all_trials(searched, manifest, tmp_path, capsys):
    sentence = trials(searched).sentence
    assert sentence.startswith("batch 3 of 3 is over, 12 of 12 trials, ")
    assert run("status", searched) == 0
    assert f"search: {sentence}" in capsys.readouterr().out
    assert run("sweep", spec_file(tmp_path, manifest, searched)) == 0
    out = capsys.readouterr().out
    assert f"search: {sentence}" in out
    assert "confirmed on 12 measurements that took no part" in out
    opened = Sweep.open(searched)
    assert opened.stored.search == trials(searched)
    assert run("report", searched, "--out", tmp_path / "page.html") == 0
    page = (tmp_path / "page.html").read_text()
    assert page == render_sweep(opened.stored).decode()  # which MLflow keeps
    assert "The search" in page
    assert page.count("left in batch") == sum(one.left is not None for one in trials(searched).trials)


def test_the_plan_is_of_the_first_batch_and_tells_what_all_may_cost(manifest, tmp_path, capsys):
    path = spec_file(tmp_path, manifest, tmp_path / "out")
    assert run("plan", path, "--no-calibration") == 0
    out = capsys.readouterr().out
    assert "4 cells (noise_to_signal), 16 measurements" in out
    assert "the first of 3 races one after the other, each on 16 measurements of its own; 12 trials in all" in out
    assert "68 to 396 work items; 12 measurements are set aside for the winner" in out
    assert run("plan", path, "--no-calibration", "--json") == 0
    assert json.loads(capsys.readouterr().out)["search"]["items"] == [68, 396]


def test_whoever_cannot_propose_refuses_a_search(manifest, tmp_path):
    spec = load_spec(spec_file(tmp_path, manifest, tmp_path / "out"))
    with pytest.raises(InputError, match=r"grid\.search: only `g2d2 sweep` proposes cells"):
        searching.run_sweep(spec)
