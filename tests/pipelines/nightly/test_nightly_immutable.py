"""A night belongs to what it was begun with: accepted ones never change, others are not overwritten by accident."""

import json
import shutil

import pytest
import yaml

from g2d2.priors.vq_diffusion.random_weights import TINY, random_components
from tests.pipelines.nightly.hand_solved import change
from tests.pipelines.nightly.night_cases import plain_pictures
from tests.pipelines.sweep_cases import run

SETTINGS = {"steps": 4, "iterations": 5, "guidance": 1, "gamma": 0.1, "learning_rate": 20.0}


def contents(tmp_path, night):
    """Every file of a night, and of the baselines, with its bytes."""
    out = tmp_path / "out"
    places = [out / "history" / night, out / "nights" / night, out / "baselines"]
    return {path: path.read_bytes() for place in places for path in place.rglob("*") if path.is_file()}


def accepted(path, night, name):
    assert night(name)[0] == 0
    assert run("nightly", "accept", path, "--night", name, "--reason", "right") == 0


def rebuild(tmp_path):
    shutil.rmtree(tmp_path / "pictures")
    source = plain_pictures(tmp_path / "pictures", 5)
    blur = ["--operator", "gaussian_blur", "--set", "kernel_size=5", "std=0.8", "--sigma", "0.05"]
    assert run("manifest", "build", source, tmp_path / "manifest", *blur, "--prompt", "a b", "--overwrite") == 0


CHANGES = {
    "iterations 5 -> 8": {"solver": {"settings": SETTINGS | {"iterations": 8}}},
    "process star -> star, markov": {"grid": {"cross": {"process": ["star", "markov"]}}},
    "seeds 0 -> 0, 1": {"seeds": [0, 1]},
    "select.limit none -> 3": {"select": {"limit": 3}},
    "metrics psnr, residual -> psnr": {"metrics": ["psnr"]},
    "precision float32 -> float64": {"resources": {"devices": 1, "dtype": "float64"}},
}


@pytest.mark.parametrize("said", CHANGES)
def test_an_accepted_night_is_not_solved_into_with_another_specification(said, quick, tmp_path, capsys):
    path, night = quick
    method = yaml.safe_load(path.read_text())["sweep"]["solver"]["method"]
    accepted(path, night, "a")
    before = contents(tmp_path, "a")
    changes = CHANGES[said]
    if "solver" in changes:
        changes = {"solver": changes["solver"] | {"method": method}}
    change(path, **changes)
    capsys.readouterr()
    assert run("nightly", path, "--night", "a") == 2
    message = capsys.readouterr().err.strip()
    assert f"night a: it was begun with another specification ({said}), and stays as it is" in message
    assert message.count("\n") == 0
    assert contents(tmp_path, "a") == before


def test_the_days_next_number_takes_another_specification_and_goes_on_with_it(quick, tmp_path, monkeypatch, capsys):
    path, _ = quick
    monkeypatch.setattr("pipelines.commands.nightly.night_today", lambda: "today")

    def tonight():
        capsys.readouterr()
        assert run("nightly", path, "--json") == 0
        out, err = capsys.readouterr()
        facts = json.loads(out)
        return (facts["night"]["night"], facts["solved"]), err

    assert tonight()[0] == ("today", 6)
    assert run("nightly", "accept", path, "--reason", "right") == 0
    before = contents(tmp_path, "today")
    change(path, grid={"cross": {"process": ["star", "markov"]}})
    facts, err = tonight()
    assert facts == ("today.2", 12)
    assert "night today: it was begun with another specification (process star -> star, markov)" in err
    assert "this is night today.2" in err

    assert tonight()[0] == ("today.2", 0)
    change(path, grid={})
    assert tonight()[0] == ("today", 0)
    assert contents(tmp_path, "today") == before


def test_a_manifest_or_a_prior_made_anew_under_its_name_is_a_change(quick, tiny_prior, tmp_path, capsys):
    path, night = quick
    prior = shutil.copytree(tiny_prior, tmp_path / "prior")
    change(path, prior=str(prior))
    accepted(path, night, "a")
    before = contents(tmp_path, "a")

    random_components(TINY, seed=1).save(prior)
    assert run("nightly", path, "--night", "a") == 2
    assert "(prior digest " in capsys.readouterr().err
    shutil.rmtree(prior)
    shutil.copytree(tiny_prior, prior)
    rebuild(tmp_path)
    capsys.readouterr()
    assert run("nightly", path, "--night", "a") == 2
    assert "(manifest digest " in capsys.readouterr().err
    assert contents(tmp_path, "a") == before


def test_an_interrupted_night_goes_on_only_as_it_was_begun(quick, hand_solved, tmp_path, monkeypatch, capsys):
    path, night = quick

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("pipelines.nightly.night.run_sweep", stopped)
    run("nightly", path, "--night", "a")
    assert not (tmp_path / "out" / "history" / "a" / "night.json").exists()
    monkeypatch.setattr("pipelines.nightly.night.run_sweep", hand_solved)

    change(path, seeds=[7])
    assert run("nightly", path, "--night", "a") == 2
    assert "(seeds 0 -> 7)" in capsys.readouterr().err
    change(path, seeds=[0], tracking={"enabled": False, "panels": 0}, resources={"devices": 1, "shard": 4})
    code, facts = night("a")
    assert (code, facts["solved"]) == (0, 6)


def test_a_finished_night_is_not_overwritten_silently_either(quick, hand_solved, tmp_path, capsys):
    path, night = quick
    hand_solved.failed = {("star", 2)}
    assert night("a")[0] == 1
    before = contents(tmp_path, "a")
    change(path, seeds=[3])
    for words in ((), ("--retry-failed",)):
        assert run("nightly", path, "--night", "a", *words) == 2
        assert "(seeds 0 -> 3)" in capsys.readouterr().err
    assert contents(tmp_path, "a") == before


def test_an_accepted_night_is_judged_again_without_a_trace(quick, hand_solved, tmp_path, capsys):
    path, night = quick
    accepted(path, night, "a")
    before = contents(tmp_path, "a")
    values = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(values | {"tolerances": {"psnr": 5}}))
    hand_solved.solved = -1
    code, facts = night("a", "--junit", tmp_path / "j.xml", "--markdown", tmp_path / "s.md")
    assert (code, facts["solved"], facts["headline"]) == (0, 0, "passed: 1 unchanged")
    assert facts["gate"]["judgements"][0]["tolerance"] == 5
    assert "accepted as baseline 1 and stays as it is" in (tmp_path / "s.md").read_text()
    assert (tmp_path / "j.xml").exists()
    assert hand_solved.solved == -1  # nothing was run
    assert contents(tmp_path, "a") == before

    assert run("nightly", path, "--night", "a", "--retry-failed") == 2
    assert "--retry-failed: night a is accepted as baseline 1" in capsys.readouterr().err
    assert contents(tmp_path, "a") == before


def test_a_night_whose_pictures_are_gone_is_not_solved_again(quick, tmp_path, capsys):
    path, night = quick
    night("a")
    shutil.rmtree(tmp_path / "out" / "nights" / "a")
    before = contents(tmp_path, "a")
    assert run("nightly", path, "--night", "a") == 2
    assert "night a: its reconstructions are deleted (keep_nights), and stays as it is" in capsys.readouterr().err
    assert contents(tmp_path, "a") == before


def test_new_takes_the_next_number_and_not_anothers_interrupted_night(quick, tmp_path):
    _, night = quick
    night("a")
    night("a", "--new")
    conditions = tmp_path / "out" / "history" / "a.3" / "conditions.json"
    conditions.parent.mkdir()
    other = json.loads((tmp_path / "out" / "history" / "a" / "conditions.json").read_text())
    conditions.write_text(json.dumps(other | {"facts": other["facts"] | {"seeds": "9"}}))
    _, facts = night("a", "--new")
    assert (facts["night"]["night"], facts["solved"]) == ("a.4", 6)


def test_a_night_that_an_earlier_version_left_stays_as_it_is(quick, tmp_path, capsys):
    path, night = quick
    night("a")
    (tmp_path / "out" / "history" / "a" / "conditions.json").unlink()
    assert run("nightly", path, "--night", "a") == 2
    assert "an earlier version ran it and did not keep its specification" in capsys.readouterr().err


def test_of_two_that_begin_a_night_at_once_one_goes_on(quick, tmp_path, monkeypatch, capsys):
    path, night = quick
    night("a")
    other = json.loads((tmp_path / "out" / "history" / "a" / "conditions.json").read_text())
    other["facts"]["seeds"] = "9"

    def meanwhile(*_, **__):
        place = tmp_path / "out" / "history" / "b"
        place.mkdir()
        (place / "conditions.json").write_text(json.dumps(other))

    monkeypatch.setattr("pipelines.nightly.night.check_work", meanwhile)
    assert run("nightly", path, "--night", "b") == 2
    assert "night b: it was begun just now with another specification (seeds 9 -> 0)" in capsys.readouterr().err
    assert not (tmp_path / "out" / "history" / "b" / "night.json").exists()
