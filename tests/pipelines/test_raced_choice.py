"""`g2d2 tune` on races: winners by their confirmed means, and nothing that left is taken for tuned."""

import json
import shutil
from dataclasses import replace

import pytest

from operators import InputError
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.tuning import TRIALS, LikeReal, find_best
from tests.pipelines.sweep_cases import build_manifest, run, specification, write_spec

QUICK = {"steps": 4, "iterations": 3, "guidance": 1.0}
PICTURES, ASIDE = 16, 4


@pytest.fixture(scope="module")
def swept(local_ray, tiny_prior, tmp_path_factory):
    """Star and markov, each halved by itself."""
    folder = tmp_path_factory.mktemp("raced-choice")
    race = {"budget": 0.5, "confirm": ASIDE, "among": "arm"}
    values = specification(build_manifest(folder, pictures=PICTURES), tiny_prior, folder / "out", race=race)
    del values["solver"], values["grid"]
    grid = {"cross": {"learning_rate": [1.0, 30.0], "gamma": [0.0, 0.3]}}
    values["arms"] = {
        "star": {"settings": QUICK, "grid": grid},
        "markov": {"settings": QUICK | {"process": "markov"}, "grid": grid},
    }
    assert run("sweep", write_spec(folder / "s.yaml", values)) == 0
    return folder / "out"


def stored(output):
    return StoredSweep.read(SweepFolder(str(output)))


def test_each_arm_has_its_winner_with_the_mean_that_confirms_it(swept, tiny_prior, tmp_path, capsys):
    shutil.copytree(tiny_prior, tmp_path / "prior")
    assert run("tune", swept, "--into", tmp_path / "prior") == 0
    out, sweep = capsys.readouterr().out, stored(swept)
    records = {one["start"]["process"]: one for one in json.loads((tmp_path / "prior" / TRIALS).read_text())}
    for heat in sweep.race.heats:
        winner, record = heat.winner, records[heat.arm]
        confirmed = sweep.record.race.confirmed(winner.cell, "psnr")
        assert record["found_by"].startswith(
            f"won a race of 4 settings by psnr on {heat.seen} measurements, confirmed on {ASIDE} others "
            f"(rows 0 to {PICTURES - 1} of every task)"
        )
        (best,) = [one for one in record["trials"] if "confirmed" in one]
        assert best["settings"] == record["best"]
        assert best["confirmed"]["psnr"] == pytest.approx(confirmed.mean, rel=1e-5)
        assert [one["left"] for one in record["trials"] if "left" in one] == [
            sweep.record.race.mark(one.cell) for one in heat.runners if one.left_after is not None
        ]
        (line,) = [line for line in out.splitlines() if line.startswith(f"{heat.arm} ")]
        assert line.split()[3:5] == [f"{confirmed.mean:.4g}", "confirmed"]


def changed(output, race, heats=None):
    """A sweep whose race went otherwise."""
    sweep = stored(output)
    spec = sweep.spec.model_copy(update={"race": sweep.spec.race.model_copy(update=race)})
    other = replace(sweep, spec=spec)
    other.__dict__["race"] = sweep.race.model_copy(
        update={"heats": heats or sweep.race.heats}
    )  # as if it had been read
    return other


def together(output, **runners):
    """The same with one race of all cells, which star's winner has won."""
    heats = {heat.arm: heat for heat in stored(output).race.heats}
    change = {"left_after": 1, "confirmed_from": None} | runners
    others = [one.model_copy(update=change) for one in heats["markov"].runners]
    return heats["star"].model_copy(update={"arm": None, "runners": [*heats["star"].runners, *others]})


def test_an_arm_that_lost_all_its_settings_is_refused(swept):
    sweep = changed(swept, {"among": "task"}, [together(swept)])
    with pytest.raises(InputError, match=r"arms: 'markov' has no setting left in the race .* race\.among: arm"):
        find_best(sweep, "psnr")
    (search,) = find_best(sweep, "psnr", ["star"])
    assert "won a race of 4 settings against 4 of other arms by psnr" in search.found_by


def test_a_metric_that_did_not_decide_who_stayed_is_refused(swept):
    with pytest.raises(InputError, match=r"metric: 'psnr' did not decide .* take ssim, or sweep without race"):
        find_best(changed(swept, {"metrics": ["ssim"]}), "psnr")
    with pytest.raises(InputError, match="take ssim, or"):  # halves are of the first alone
        find_best(changed(swept, {"metrics": ["ssim", "psnr"]}), "psnr")


def test_a_second_criterion_is_for_whole_grids(swept):
    with pytest.raises(InputError, match="near: a race has one winner an arm"):
        find_best(stored(swept), "psnr", like=LikeReal(("ssim",), 0.01))


def test_a_race_that_goes_on_is_refused(swept):
    heats = [heat.model_copy(update={"over": False}) for heat in stored(swept).race.heats]
    with pytest.raises(InputError, match="still in; run it to its end first"):
        find_best(changed(swept, {}, heats), "psnr")


def test_the_best_of_those_that_stayed_without_winning_is_not_called_confirmed(swept):
    """As markov's, where star has won a race of all cells."""
    heats = [together(swept, left_after=None, reason=None)]
    (search,) = find_best(changed(swept, {"among": "task"}, heats), "psnr", ["markov"])
    assert "best psnr of 4 that stayed of 4 settings against 4 of other arms in a race on" in search.found_by
    assert "not confirmed" in search.found_by
    assert not search.best.confirmed
