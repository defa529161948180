"""Races through the whole road: the same decisions however they come about, and nothing shown as more than it is."""

import csv
import io
import json
import re
import shutil
from dataclasses import replace
from html import unescape

import pyarrow as pa
import pytest
import yaml

from eval.distribution.results import CellDistance
from eval.record.leaderboard import leaderboard
from eval.record.numbers import shown
from eval.record.word_tables import cell_table
from operators import InputError
from pipelines.console.result_tables import contrast_lines
from pipelines.notebook.opened_sweep import Sweep
from pipelines.plan.planning import read_whole_plan
from pipelines.plan.race_record import read_race
from pipelines.plan.sweep_spec import load_spec
from pipelines.report import render_sweep
from pipelines.score.race_results import by_stay, cells_over_measurements, cost_sentence, departures
from pipelines.score.race_standings import Standings
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.sweep import run_sweep
from pipelines.track.cell_run import cell_content
from pipelines.track.panels import Panels
from pipelines.track.sweep_run import race_metrics, sweep_content
from tests.pipelines.sweep_cases import build_manifest, run

NOISE = [0.003, 0.01, 0.03, 0.3, 3.0, 30.0]


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    return build_manifest(tmp_path_factory.mktemp("race"), pictures=60)


def spec_file(folder, manifest, name="race", **changes):
    values = {
        "name": name,
        "manifest": manifest,
        "output": str(folder / name),
        "arms": {
            "wiener": {"method": "wiener", "grid": {"cross": {"noise_to_signal": NOISE}}},
            "bicubic": {"method": "bicubic"},
        },
        "race": {"confirm": 12, "round": 4},
        "metrics": ["psnr", "residual"],
        "tracking": {"enabled": False},
        "resources": {"shard": 4, "devices": 1},
    } | changes
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(values, sort_keys=False))
    return path


@pytest.fixture(scope="module")
def raced(local_ray, manifest, tmp_path_factory):
    folder = tmp_path_factory.mktemp("raced")
    assert run("sweep", spec_file(folder, manifest)) == 0
    return folder / "race"


@pytest.fixture(scope="module")
def grid(local_ray, manifest, tmp_path_factory):
    """The same without a race."""
    folder = tmp_path_factory.mktemp("grid")
    assert run("sweep", spec_file(folder, manifest, "grid", race=None)) == 0
    return StoredSweep.read(SweepFolder(str(folder / "grid")))


def stored(output):
    return StoredSweep.read(SweepFolder(str(output)))


def decisions(output):
    """Without the id of the plan."""
    sweep = stored(output)
    return sweep.race.model_dump()


def test_losers_leave_early_and_the_best_of_the_whole_grid_wins(raced, grid):
    (heat,) = stored(raced).race.heats
    truly = grid.record.best_of(heat.task, grid.record.judged[0])
    assert heat.over
    assert heat.winner.cell == truly.id
    gone = [runner for runner in heat.runners if runner.left_after is not None]
    assert gone
    assert all(runner.end < heat.pool and runner.beaten["psnr"].evidence >= 1 / 0.05 for runner in gone)


def test_a_race_solves_what_it_asks_for_and_counts_just_that(raced, grid):
    sweep = stored(raced)
    (heat,) = sweep.race.heats
    aside = heat.measurements - heat.pool
    assert sweep.expected == sum(runner.end for runner in heat.runners) + aside
    assert sweep.missing == 0
    assert sweep.expected < 0.8 * grid.expected
    for runner in heat.runners:
        cell = sweep.record.cell(runner.cell)
        assert cell.count == runner.end + (aside if runner.cell == heat.winner.cell else 0)


def test_the_confirming_measurements_took_no_part(raced):
    sweep = stored(raced)
    (heat,) = sweep.race.heats
    rows = sweep.scores.table.to_pylist()
    by_cell = {}
    for row in rows:
        by_cell.setdefault(row["cell"], set()).add(row["measurement"])
    winner = by_cell.pop(heat.winner.cell)
    others = set().union(*by_cell.values())
    assert len(winner - others) >= 12
    (confirmed,) = sweep.record.race.confirmations
    assert confirmed.means["psnr"].clusters == 12


def test_scores_of_a_race_are_those_of_the_grid(raced, grid):
    key = ("cell", "measurement", "seed", "psnr")
    whole = {tuple(row[name] for name in key) for row in grid.scores.table.select(key).to_pylist()}
    part = {tuple(row[name] for name in key) for row in stored(raced).scores.table.select(key).to_pylist()}
    assert part < whole


def test_resuming_with_some_of_it_lost_gives_the_same_race(raced, manifest, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(raced, copy)
    for lost, some in (("solved", 3), ("scores", 2), ("race", 1)):
        for path in sorted((copy / lost).rglob("*.*"))[::some]:
            path.unlink()
    shutil.rmtree(copy / "results")
    assert run("sweep", spec_file(tmp_path, manifest, output=str(copy))) == 0
    assert decisions(copy) == decisions(raced)


@pytest.mark.slow
def test_another_number_of_devices_and_other_shards_give_the_same_race(raced, manifest, tmp_path, capsys):
    path = spec_file(tmp_path, manifest, resources={"shard": 3, "devices": 2})
    assert run("sweep", path) == 0
    assert decisions(tmp_path / "race") == decisions(raced)
    told = capsys.readouterr().err
    assert "images on 2 GPUs" in told
    assert re.search(r"left after \d+: .*, behind .* by .* psnr, evidence", told)


@pytest.mark.slow
def test_what_another_sweep_has_solved_is_taken_over(grid, raced, manifest, tmp_path):
    shutil.copytree(grid.folder.url.removeprefix("file://"), tmp_path / "grid")
    before = {path.name for path in (tmp_path / "grid" / "solved").iterdir()}
    assert run("sweep", spec_file(tmp_path, manifest, "grid")) == 0
    assert {path.name for path in (tmp_path / "grid" / "solved").iterdir()} == before
    assert stored(tmp_path / "grid").early == 0
    assert decisions(tmp_path / "grid") == decisions(raced)


def test_a_race_that_is_over_does_nothing_when_it_is_run_again(raced, manifest, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in (raced / "solved").iterdir()}
    result = run_sweep(load_spec(spec_file(tmp_path, manifest, output=str(raced))))
    assert result.counts.complete
    assert {path: path.stat().st_mtime_ns for path in (raced / "solved").iterdir()} == before


def test_scores_that_are_to_be_made_again_decide_nothing_meanwhile(raced):
    sweep, plan = stored(raced), read_whole_plan(SweepFolder(str(raced)))
    scoring = sweep.summary["scoring"]
    standings = Standings(sweep.spec, plan)
    standings.load(sweep.folder, plan, scoring, again={plan.shards[0].name})
    assert standings.record().heats[0].rounds == 0
    standings.take(sweep.folder.store.read_table(sweep.folder.scores_name(scoring, plan.shards[0].name)))
    assert standings.record() == sweep.race


def test_a_cell_of_perfect_copies_wins_its_race(raced):
    sweep, plan = stored(raced), read_whole_plan(SweepFolder(str(raced)))
    rival = bicubic(sweep.record).id
    perfect = [row | ({"psnr": float("inf")} if row["cell"] == rival else {}) for row in sweep.scores.table.to_pylist()]
    standings = Standings(sweep.spec, plan)
    standings.take(pa.Table.from_pylist(perfect))
    (heat,) = standings.record().heats
    assert heat.leader == rival
    assert heat.model_validate_json(heat.model_dump_json()) == heat


def test_those_that_stayed_are_ranked_together_and_those_that_left_are_not(raced):
    record = stored(raced).record
    (heat,) = stored(raced).race.heats
    for cell in record.cells:
        gone = record.race.mark(cell.id)
        assert ("psnr" in cell.ranked) != bool(gone)
        assert cell.marked == (f"{cell.label} ({gone})" if gone else cell.label)
    (best,) = record.best
    assert best.cell.id == heat.winner.cell
    assert best.rivals == len(heat.inside) - 1
    assert best.unranked == len(heat.runners) - len(heat.inside)
    (confirmed,) = record.race.confirmations
    assert best.confirmed == confirmed.means["psnr"]
    assert any("12 that took no part in choosing it" in remark for remark in best.remarks)
    board = leaderboard(record)
    assert [row[board.header.index("race")] for row in board.rows][:2] == ["won", record.race.marks[bicubic(record).id]]


def bicubic(record):
    return next(cell for cell in record.cells if cell.arm == "bicubic")


def test_a_contrast_with_an_arm_that_left_is_of_what_it_saw_and_says_so(raced):
    opened = Sweep.open(raced)
    rival = bicubic(opened.record)
    gone = opened.record.race.mark(rival.id)
    (words,) = [one for one in opened.contrast("wiener", "bicubic") if one.metric.name == "psnr"]
    assert gone
    assert words.result.pairs == int(gone.removeprefix("left after "))
    assert words.judged_b == rival.marked
    assert words.chosen or len(words.cells_a) == 1


def test_a_race_held_against_the_whole_grid_lacks_nothing_that_it_asked_for(raced, grid, tmp_path, capsys):
    for sides in ((raced, grid.folder.url), (grid.folder.url, raced)):
        assert run("compare", *sides, "--json") == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts["counts"] == {"unchanged": 7}
        gone = [one for one in stored(raced).record.cells if one.left]
        assert sum("left after" in one["label"] for one in facts["judgements"]) == len(gone)
        assert any("is a race" in note and "p is nominal" in note for note in facts["notes"])
    lost = tmp_path / "lost"
    shutil.copytree(raced, lost)
    for path in (*sorted((lost / "scores").rglob("*.parquet"))[::2], *(lost / "results").iterdir()):
        path.unlink()
    assert run("compare", lost, raced) == 1
    assert "not in the candidate" in capsys.readouterr().out


@pytest.mark.slow
def test_each_arm_can_race_by_itself_so_that_arms_can_be_compared(manifest, local_ray, tmp_path):
    # far enough apart to be beaten in any order of measurements
    apart = {"method": "wiener", "grid": {"cross": {"noise_to_signal": [0.01, 0.3, 3.0]}}}
    arms = {"wiener": apart, "bicubic": {"method": "bicubic"}}
    race = {"among": "arm", "confirm": "rest", "round": 4}
    assert run("sweep", spec_file(tmp_path, manifest, race=race, arms=arms, compare="bicubic")) == 0
    heats = {heat.arm: heat for heat in stored(tmp_path / "race").race.heats}
    assert set(heats) == {"wiener", "bicubic"}
    assert all(heat.over for heat in heats.values())
    assert heats["bicubic"].rounds == 1
    assert heats["bicubic"].winner.confirmed_from == 4
    (contrast,) = stored(tmp_path / "race").record.contrasts
    assert heats["wiener"].seen < 60
    assert contrast.result.pairs == 60 - heats["wiener"].seen  # where neither of the two was chosen
    assert not contrast.chosen


def test_halving_costs_its_budget(manifest, local_ray, tmp_path):
    resources = {"shard": 4, "devices": 2}
    assert run("sweep", spec_file(tmp_path, manifest, race={"budget": 0.2, "confirm": 0}, resources=resources)) == 0
    sweep = stored(tmp_path / "race")
    (heat,) = sweep.race.heats
    assert len(heat.inside) == 1
    assert sweep.expected <= 0.2 * 7 * 60
    assert sweep.early == 0
    assert not heat.safe


def test_the_plan_tells_rounds_and_what_it_may_cost(manifest, tmp_path, capsys):
    path = spec_file(tmp_path, manifest)
    assert run("plan", path, "--no-calibration") == 0
    out = capsys.readouterr().out
    assert "race: 12 rounds of 4 of 48 measurements, 7 cells" in out
    assert "40 to 348 of 420 work items" in out
    assert "race: typically " in out
    assert run("plan", path, "--no-calibration", "--json") == 0
    facts = json.loads(capsys.readouterr().out)["race"]
    assert facts["items"] == [40, 348]
    assert 40 <= facts["typical_items"][0] <= facts["typical_items"][1] <= 348


def test_short_trials_take_the_batches_that_a_race_can_have(manifest, tmp_path, capsys):
    path = spec_file(tmp_path, manifest, seeds=[0, 1], resources={"shard": 32, "batch": 32, "devices": 1})
    assert run("plan", path, "--json") == 0
    assert json.loads(capsys.readouterr().out)["measured_rows"] == 4 * 2


def test_what_is_solved_ahead_of_a_cell_that_left_is_counted_everywhere(raced, manifest, tmp_path, capsys):
    copy = tmp_path / "early"
    shutil.copytree(raced, copy)
    folder, before = SweepFolder(str(copy)), stored(raced).early
    due = {shard.name for shard in stored(raced).plan.shards}
    spare = [one for one in read_whole_plan(folder).shards if one.name not in due | folder.solved_shards()]
    some = folder.read_solved(sorted(folder.solved_shards())[0])
    for shard in spare[:2]:  # as a device leaves them that was ahead of the race
        folder.store.write_table(folder.solved_name(shard.name), some)
    early = before + sum(shard.count for shard in spare[:2])
    sweep = stored(copy)
    assert sweep.early == early
    assert race_metrics(sweep)["race_spent"] == (sweep.expected + early) / 420
    sentence = cost_sentence(sweep.expected, 420, early)
    assert f"and {early} others solved too early" in sentence
    assert sentence in render_sweep(sweep).decode()
    assert run("status", copy) == 0
    assert f"race: {early} work items solved too early" in capsys.readouterr().out


def test_few_shards_are_solved_ahead_of_a_race(raced):
    sweep = stored(raced)
    (heat,) = sweep.race.heats
    assert sweep.early <= 4 * 2 * heat.rounds  # a shard of 4 for the only device and one to spare, each round
    assert sweep.early + sweep.expected == sum(
        shard.count
        for shard in read_whole_plan(sweep.folder).shards
        if shard.name in SweepFolder(str(raced)).solved_shards()
    )


def test_status_tells_who_is_in(raced, capsys):
    assert run("status", raced) == 0
    (heat,) = stored(raced).race.heats
    assert heat.sentence in capsys.readouterr().out


def test_status_names_who_leads_and_who_left_by_whom_and_on_what_evidence(raced, capsys):
    sweep = stored(raced)
    (heat,) = sweep.race.heats
    assert run("status", raced) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert f"won: {sweep.record.cell(heat.winner.cell).label}" in lines
    gone = [one for one in heat.runners if one.left_after is not None]
    told = [line for line in lines if line.startswith("left after")]
    assert len(told) == min(5, len(gone))
    for one in gone:
        defeat, label = one.beaten["psnr"], sweep.record.cell(one.cell).label
        by = sweep.record.cell(defeat.leader).label
        words = f"left after {one.end}: {label}, behind {by} by {shown(defeat.difference)} psnr"
        assert f"{words}, evidence {defeat.evidence:.2g}" in told
    assert run("status", raced, "--json") == 0
    (state,) = json.loads(capsys.readouterr().out)["heats"]
    assert [one["cell"] for one in state["cells"]] == [one.cell for one in by_stay(heat)]
    assert [one["leads"] for one in state["cells"]] == [True] + [False] * (len(heat.runners) - 1)


def test_python_and_mlflow_have_the_race_as_rows(raced):
    opened = Sweep.open(raced)
    (heat,) = opened.stored.race.heats
    rows = opened.race().to_arrow().to_pylist()
    assert [row["cell"] for row in rows] == [one.cell for one in by_stay(heat)]
    assert opened.record.cell(heat.winner.cell).label in repr(opened.race())
    logged = sweep_content(opened.stored, []).artifacts()["race.csv"].decode()
    assert [row["cell"] for row in csv.DictReader(io.StringIO(logged))] == [row["cell"] for row in rows]
    for runner, row in zip(by_stay(heat), rows, strict=True):
        cell = opened.record.cell(runner.cell)
        tags = cell_content(opened.stored, cell, Panels(opened.stored)).tags()
        if runner.left_after is None:
            assert "beaten_by" not in tags
            continue
        defeat = runner.beaten["psnr"]
        assert (row["measurements"], row["psnr_behind"], row["evidence"]) == (
            runner.end, defeat.difference, defeat.evidence,
        )  # fmt: skip
        assert tags["beaten_by"] == row["beaten_by"] == opened.record.cell(defeat.leader).label
        assert float(tags["evidence"]) == pytest.approx(defeat.evidence, rel=0.01)
        assert tags["race"] == f"left after {runner.end}"


def test_a_sweep_without_a_race_has_none_to_show(grid):
    with pytest.raises(InputError, match="grid: no race has begun in it"):
        Sweep(grid).race()


def test_distances_over_other_counts_of_images_are_marked_and_not_logged(raced):
    sweep = stored(raced)
    (heat,) = sweep.race.heats
    counts = {cell.id: cell.count for cell in sweep.record.cells}
    distances = {id: {"fid": CellDistance("fid", 12.5, count, count)} for id, count in counts.items()}
    sweep = replace(sweep, distances=distances)
    table = cell_table(sweep.record)
    place = table.header.index("fid")
    assert [row[place] for row in table.rows[: len(counts)]] == [
        f"12.500 (of {counts[cell.id]})" for cell in sweep.record.cells
    ]
    for cell in sweep.record.cells:
        content = cell_content(sweep, cell, Panels(sweep))
        most = cell.count == max(counts.values())
        assert ("fid" in content.metrics()) == most
        assert ("fid is not logged" in content.tags()["mlflow.note.content"]) != most
    assert counts[heat.winner.cell] == max(counts.values())


def test_terminal_and_cells_mark_who_left(raced, manifest, tmp_path, capsys):
    assert run("sweep", spec_file(tmp_path, manifest, output=str(raced))) == 0
    out = capsys.readouterr().out
    sweep = stored(raced)
    (heat,) = sweep.race.heats
    gone = next(runner for runner in heat.runners if runner.left_after is not None)
    assert f"left after {gone.end}" in out
    assert "won" in out
    assert "confirmed on 12 measurements that took no part" in out


def test_the_page_draws_the_race_and_mlflow_has_its_numbers(raced, tmp_path):
    sweep = stored(raced)
    (heat,) = sweep.race.heats
    assert run("report", raced, "--out", tmp_path / "page.html") == 0
    page = (tmp_path / "page.html").read_text()
    assert page == render_sweep(sweep).decode()  # which MLflow keeps
    assert "The race" in page
    assert heat.sentence in page
    assert "cells over measurements" in page
    gone = next(runner for runner in heat.runners if runner.left_after is not None)
    assert f"left after {gone.end}" in page
    numbers = race_metrics(sweep)
    (confirmed,) = sweep.record.race.confirmations
    assert numbers["race_cost"] == sweep.expected / 420
    assert numbers["race_spent"] == (sweep.expected + sweep.early) / 420
    assert cost_sentence(sweep.expected, 420, sweep.early) in page
    assert numbers[f"race_cells_in/{heat.task}"] == len(heat.inside)
    assert numbers[f"confirmed_psnr/{heat.task}"] == confirmed.means["psnr"].mean


@pytest.mark.parametrize(
    ("race", "sentence"),
    [
        ("fast", "race is 'fast': it must be safe or settings"),
        (True, "race is True: it must be safe or settings"),
        ({"confirm": "all"}, "race.confirm is 'all': it must be rest or a whole number from 0"),
        ({"metrics": ["fid"]}, "race.metrics: fid is of all images of a cell at once and cannot be raced by"),
        ({"metrics": ["pnsr"]}, "race.metrics: 'pnsr' (did you mean 'psnr'?): each must be one of the sweep's metrics"),
        ({"metrics": ["psnr", "psnr"]}, "race.metrics: psnr is there twice"),
        ({"metrics": ["residual"]}, "race.metrics: residual has no better and worse to race by"),
        ({"delta": {"ssim": 0.1}}, "race.delta: 'ssim' is not raced by; it must be of psnr"),
        ({"delta": {"psnr": -1}}, "race.delta.psnr is -1: it must be at least 0"),
        ({"bound": {"psnr": 0}}, "race.bound.psnr is 0: it must be above 0"),
        ({"delta": {"psnr": 4}}, "race.delta.psnr is 4: it must be below race.bound.psnr, 4"),
        ({"bound": {"psnr": 0.05}}, "race.delta.psnr is 0.05: it must be below race.bound.psnr, 0.05"),
        ({"budget": 0.1, "alpha": 0.1}, "budget is of one that promises nothing"),
        ({"confirm": 60}, "race.confirm: 60 measurements are set aside of the 60"),
        ({"budget": 0.01}, "race.budget: 0.01 of 7 cells"),
    ],
)
def test_bad_races_are_refused_in_a_sentence(manifest, tmp_path, capsys, race, sentence):
    assert run("plan", spec_file(tmp_path, manifest, race=race), "--no-calibration") == 2
    assert sentence in capsys.readouterr().err


def test_a_record_of_a_race_that_is_damaged_is_named(raced, tmp_path):
    copy = tmp_path / "damaged"
    shutil.copytree(raced, copy)
    (path,) = (copy / "race").iterdir()
    path.write_text("{}x")
    with pytest.raises(InputError, match="race/"):
        stored(copy)
    assert read_race(SweepFolder(str(raced)), "0" * 32) is None


def test_the_picture_names_the_winner_first_and_shows_how_far_each_came(raced):
    sweep = stored(raced)
    (heat,) = sweep.race.heats
    places, counts = cells_over_measurements(heat)
    assert (places[0], counts[0]) == (0, len(heat.runners))
    assert (places[-1], counts[-1]) == (heat.seen, len(heat.inside))
    assert counts == sorted(counts, reverse=True)
    words = departures([heat], sweep.record)
    winner = sweep.record.cell(heat.winner.cell)
    assert words.rows[0][:3] == [winner.label, "won", str(heat.winner.end)]
    assert [int(row[2]) for row in words.rows] == sorted((one.end for one in heat.runners), reverse=True)
    page = render_sweep(sweep).decode()
    assert all(f'<progress max="{heat.pool}" value="{one.end}">' in page for one in heat.runners)


def test_the_headline_is_the_confirmed_number_in_terminal_page_mlflow_and_python(raced):
    opened = Sweep.open(raced)
    (confirmed,) = opened.record.race.confirmations
    winner, mean = opened.record.cell(confirmed.cell), confirmed.means["psnr"].mean
    begins = f"{confirmed.race}: {winner.label} won: psnr {shown(mean)} dB"
    assert opened.headline.startswith(begins)
    assert "confirmed on 12 measurements that took no part" in opened.headline
    assert opened.headline in repr(opened)
    assert opened.headline in contrast_lines(opened.record)
    assert opened.headline in unescape(render_sweep(opened.stored).decode())
    content = sweep_content(opened.stored, [])
    assert opened.headline in content.tags()["mlflow.note.content"]
    assert content.metrics()[f"confirmed_psnr/{confirmed.race}"] == mean
