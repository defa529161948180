"""`g2d2 tune`: the best of a sweep's settings per arm and task goes to the prior's folder, with all that was tried."""

import json
import shutil
from collections import Counter

import pytest
import yaml

from g2d2.methods import find_method
from g2d2.methods.tuned import FILE, tuned_settings
from operators.validation import validate
from pipelines.manifest import Manifest
from pipelines.plan.planning import outline
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.tuning import TRIALS, find_best
from tests.pipelines.sweep_cases import run, specification

QUICK = {"steps": 4, "iterations": 3, "guidance": 1.0}
TRIED = {"star": 4, "aps": 4, "markov": 2}
APS = {"relaxation": "quantized-expectation", "remasking": "posterior-confidence"}


def arms(manifest, prior, output, sides, **changes):
    values = specification(manifest, prior, output) | changes
    del values["solver"], values["grid"]
    return values | {"arms": sides}


@pytest.fixture(scope="module")
def swept(local_ray, small_manifest, tiny_prior, tmp_path_factory):
    """Star over four settings, APS over four, Markov over two, and a method that has no prior."""
    folder = tmp_path_factory.mktemp("tuning")
    grid = {"cross": {"learning_rate": [1.0, 30.0], "gamma": [0.0, 0.3]}}
    sides = {
        "star": {"settings": QUICK, "grid": grid},
        "aps": {"preset": "aps", "settings": QUICK | {"steps": 3}, "grid": grid},
        "markov": {"settings": QUICK | {"process": "markov"}, "grid": {"cross": {"gamma": [0.0, 0.3]}}},
        "wiener": {"method": "wiener"},
    }
    values = arms(small_manifest, tiny_prior, folder / "out", sides, select={"skip": 2, "limit": 3})
    (folder / "s.yaml").write_text(yaml.safe_dump(values, sort_keys=False))  # the first arm of a method is its base
    assert run("sweep", folder / "s.yaml") == 0
    return folder / "out"


@pytest.fixture
def prior(tiny_prior, tmp_path):
    shutil.copytree(tiny_prior, tmp_path / "prior")
    return tmp_path / "prior"


def means_by_setting(swept, arm):
    """Mean PSNR by learning rate and gamma, from the table that the sweep wrote."""
    sweep = StoredSweep.read(SweepFolder(str(swept)))
    rows = [row for row in sweep.scores.table.to_pylist() if row["arm"] == arm]
    cells = {(row["learning_rate"], row["gamma"]) for row in rows}
    return {
        cell: sum(r["psnr"] for r in rows if (r["learning_rate"], r["gamma"]) == cell) / 3 for cell in sorted(cells)
    }


def test_the_best_mean_is_chosen_and_every_trial_is_kept(swept, prior, capsys):
    assert run("tune", swept, "--arms", "star", "--into", prior) == 0
    means = means_by_setting(swept, "star")
    rate, gamma = max(means, key=means.get)
    tuned = json.loads((prior / FILE).read_text())["g2d2"]
    (task,) = tuned["tasks"]
    assert tuned["tasks"][task] == [{"settings": {"learning_rate": rate, "gamma": gamma}}]
    assert tuned["shared"] == QUICK
    assert "best psnr of 4 settings on 3 measurements (rows 2 to 4 of every task)" in tuned["found_by"]
    (record,) = json.loads((prior / TRIALS).read_text())
    tried = {(t["settings"]["learning_rate"], t["settings"]["gamma"]): t for t in record["trials"]}
    assert set(tried) == set(means)
    assert all(tried[cell]["means"]["psnr"] == pytest.approx(mean, rel=1e-5) for cell, mean in means.items())
    assert {(trial["solved"], trial["failed"]) for trial in tried.values()} == {(3, 0)}
    assert record["best"] == {"learning_rate": rate, "gamma": gamma}
    assert f"learning_rate {rate:g}, gamma {gamma:g}" in capsys.readouterr().out


def test_the_preset_tuned_then_plans_it(swept, prior, small_manifest, tmp_path):
    assert run("tune", swept, "--into", prior) == 0
    sides = {
        "star": {"preset": "tuned"},
        "markov": {"preset": "tuned", "settings": {"process": "markov"}},
        "aps": {"preset": "tuned", "settings": APS | {"steps": 3}},
    }
    spec = validate(SweepSpec, arms(small_manifest, prior, tmp_path / "o", sides), where="specification")
    cells = {cell.arm: cell.settings for cell in outline(spec, Manifest.open(small_manifest)).cells}
    for name in ("star", "aps"):
        means = means_by_setting(swept, name)
        assert (cells[name]["learning_rate"], cells[name]["gamma"]) == max(means, key=means.get)
    assert (cells["star"]["steps"], cells["aps"]["steps"], cells["aps"]["remasking"]) == (4, 3, APS["remasking"])
    found = {search.arm: search for search in find_best(StoredSweep.read(SweepFolder(str(swept))), "psnr")}
    assert cells["markov"]["gamma"] == found["markov"].best.settings["gamma"]


def test_what_was_tuned_before_stays_and_the_same_search_takes_its_own_place(swept, prior):
    earlier = {"found_by": "trying", "shared": QUICK, "tasks": {"other": [{"settings": {"gamma": 0.9}}]}}
    (prior / FILE).write_text(json.dumps({"g2d2": earlier, "wiener": {"found_by": "trying"}}))
    assert run("tune", swept, "--arms", "star", "markov", "aps", "--into", prior) == 0
    once = [(prior / name).read_text() for name in (FILE, TRIALS)]
    assert run("tune", swept, "--arms", "star", "markov", "aps", "--into", prior) == 0
    assert [(prior / name).read_text() for name in (FILE, TRIALS)] == once
    content = json.loads(once[0])
    assert content["wiener"] == {"found_by": "trying"}
    assert content["g2d2"]["found_by"] == "trying"
    assert content["g2d2"]["tasks"].pop("other") == earlier["tasks"]["other"]
    ((*cases,),) = content["g2d2"]["tasks"].values()
    assert [case.get("when", {}) for case in cases] == [APS | {"steps": 3}, {"process": "markov"}, {}]
    assert all("best psnr of" in case["found_by"] for case in cases)
    assert tuned_settings(prior, find_method("g2d2")) is not None


def test_unequal_budgets_and_bests_at_an_end_are_noticed(swept, capsys):
    assert run("tune", swept) == 0
    out = capsys.readouterr().out
    assert "not the same number of settings was tried of every arm: star 4, aps 4, markov 2" in out
    assert "is the" not in out  # two values have no inside


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--metric", "pnsr"], "metric: 'pnsr' (did you mean 'psnr'?)"),
        (["--metric", "residual"], "must be one that the sweep has: psnr"),
        (["--arms", "wiener"], "arms: wiener has no prior to be tuned for here; those that have: star, aps, markov"),
        (["--into", "nowhere"], "into: nowhere is no folder"),
    ],
)
def test_what_cannot_be_tuned_is_said(options, sentence, swept, capsys):
    assert run("tune", swept, *options) == 2
    assert sentence in capsys.readouterr().err


def test_an_unfinished_sweep_is_refused(swept, tmp_path, capsys):
    shutil.copytree(swept, tmp_path / "cut")
    for lost in (next((tmp_path / "cut" / "scores").rglob("*.parquet")), *(tmp_path / "cut" / "results").iterdir()):
        lost.unlink()
    assert run("tune", tmp_path / "cut") == 2
    assert "are missing; run it to its end first" in capsys.readouterr().err


def test_a_damaged_file_of_trials_is_not_written_over(swept, prior, capsys):
    (prior / TRIALS).write_text("{")
    assert run("tune", swept, "--into", prior) == 2
    assert "is no list of searches" in capsys.readouterr().err
    assert not (prior / FILE).exists()


def named(prior, name):
    """A preset of the prior, and the record of its search."""
    record = next(one for one in json.loads((prior / TRIALS).read_text()) if one.get("preset") == name)
    return tuned_settings(prior, find_method("g2d2"), name), record


def test_a_named_preset_is_the_best_of_all_arms_that_decodes_seldom_enough(swept, prior, capsys):
    assert run("tune", swept, "--arms", "star", "--into", prior) == 0
    assert run("tune", swept, "--as", "best", "--into", prior) == 0
    assert run("tune", swept, "--as", "fast", "--most-calls", 10, "--into", prior) == 0
    assert "4 of 10" in capsys.readouterr().out  # APS, of 3 steps of 3 iterations and the last image
    method = find_method("g2d2")
    for name, arms in (("best", ("star", "aps", "markov")), ("fast", ("aps",))):
        preset, record = named(prior, name)
        calls = {arm: {one["decoder_calls"] for one in record["trials"] if one["arm"] == arm} for arm in TRIED}
        assert calls == {"star": {13}, "aps": {10}, "markov": {13}}
        assert Counter(one["arm"] for one in record["trials"]) == TRIED
        able = [one for one in record["trials"] if one["arm"] in arms]
        best = max(able, key=lambda one: one["means"]["psnr"])
        assert record["best"] == best["settings"]
        found = preset.settings(method, record["task"], {})
        assert found == method.settings(**best["settings"])
        assert found == preset.settings(method, "a task of one's own", {})  # of a new preset: as the first winner
    assert (
        "best psnr of the 4 with at most 10 decoder calls of 10 settings of small on 3 measurements" in preset.found_by
    )
    assert tuned_settings(prior, method).settings(method, record["task"], {}).steps == 4  # what was tuned stays


def test_a_named_preset_keeps_what_stands_under_its_name_for_other_tasks(swept, prior):
    shared = QUICK | {"learning_rate": 7.0}
    fast = {"found_by": "trying", "shared": shared, "tasks": {"other": [{"settings": {"gamma": 0.9}}]}}
    (prior / FILE).write_text(json.dumps({"g2d2": {"found_by": "trying", "others": {"fast": fast}}}))
    for _ in range(2):  # the same search takes its own place
        assert run("tune", swept, "--as", "fast", "--arms", "star", "--into", prior) == 0
        assert len(json.loads((prior / TRIALS).read_text())) == 1
    content, method = json.loads((prior / FILE).read_text())["g2d2"], find_method("g2d2")
    assert content["others"]["fast"]["shared"] == shared
    assert content["others"]["fast"]["tasks"]["other"] == fast["tasks"]["other"]
    preset, record = named(prior, "fast")
    assert preset.settings(method, record["task"], {}) == method.settings(**record["best"])


def test_several_sweeps_make_one_preset_where_they_have_the_same_measurements(
    swept, prior, small_manifest, tiny_prior, tmp_path, capsys
):
    assert run("tune", swept, "--arms", "star", "--into", prior) == 0
    for limit in (3, 2):
        values = arms(small_manifest, tiny_prior, tmp_path / f"{limit}", {"long": {"settings": QUICK | {"steps": 6}}})
        values |= {"name": "longer", "select": {"skip": 2, "limit": limit}}
        (tmp_path / f"{limit}.yaml").write_text(yaml.safe_dump(values))
        assert run("sweep", tmp_path / f"{limit}.yaml") == 0
    assert run("tune", swept, tmp_path / "3", "--as", "best", "--into", prior) == 0
    record = named(prior, "best")[1]
    assert Counter(one["arm"] for one in record["trials"]) == TRIED | {"long": 1}
    assert "best psnr of 11 settings of small and longer on 3 measurements" in record["found_by"]
    assert run("tune", swept, tmp_path / "2", "--as", "best", "--into", prior) == 2
    assert "as: the sweeps have other measurements of gaussian_blur (star 3, long 2)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--most-calls", 10], "as: several sweeps, or --most-calls, need the name of a preset; give --as."),
        (
            ["--as", "fast", "--most-calls", 9],
            "most_calls: 9 is below what any setting has in gaussian_blur, 10 or more.",
        ),
        (["--as", "fast", "--near", "psnr", "--within", 1], "near: a preset by --as has one criterion"),
        (["--as", "fast", "--arms", "wiener"], "arms: wiener has no prior to be tuned for here"),
        (["--as", "fast", "--into", "nowhere"], "into: nowhere is no folder"),
    ],
)
def test_what_can_be_no_named_preset_is_said(options, sentence, swept, capsys):
    assert run("tune", swept, *options) == 2
    assert sentence in capsys.readouterr().err


def test_a_named_preset_stands_beside_what_is_tuned(swept, prior, capsys):
    assert run("tune", swept, "--as", "fast", "--into", prior) == 2
    assert "nothing is tuned of g2d2" in capsys.readouterr().err
    assert not (prior / TRIALS).exists()
