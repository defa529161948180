"""The specifications of `examples/cifar10`: one budget for every method, other images for tuning than for the table."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from PIL import Image

from g2d2.methods import find_method
from g2d2.methods.tuned import read_tuned, tuned_settings
from g2d2.priors.catalog import CATALOG
from g2d2.priors.locating import locate_prior
from pipelines.manifest import BuildSettings, build_manifest
from pipelines.paper.running import UNINFORMED
from pipelines.plan.sweep_spec import load_spec
from tests.pipelines.sweep_cases import run

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "cifar10"
PRESETS = EXAMPLES / "presets"
TASKS = ("sr4-32", "gaussian-deblur-32")
TUNING = {path.stem: load_spec(path) for path in sorted((EXAMPLES / "tuning").glob("*.yaml"))}
SEARCHES = {name: (spec, arm) for spec in TUNING.values() for name, arm in spec.all_arms().items()}
TABLE = load_spec(EXAMPLES / "methods.yaml")
MASKED = load_spec(EXAMPLES / "masked.yaml")
OF_MASKED = {"masked-star": "masked", "masked-markov": "markov"}
"""Searches on the masked prior, by the arms that show them."""
BUDGET = 17
"""What star and Markov were given: nine settings and eight more (docs/embedded-prior.md)."""


def test_every_method_is_in_the_table_and_the_baseline_is_star():
    assert list(TABLE.arms) == [
        "star", "markov", "aps", "dps", "ddrm", "psld", "resample", "daps", "diffpir", "pigdm", "wiener", "bicubic",
    ]  # fmt: skip
    assert (TABLE.compare, TABLE.select.skip, TABLE.select.limit) == ("star", 0, 128)
    searched = {name for name, arm in TABLE.all_arms().items() if arm.prior is not None} - {"star", "markov"}
    assert searched == set(SEARCHES) - set(OF_MASKED)
    assert all(arm.preset == "tuned" for arm in TABLE.all_arms().values() if arm.prior is not None)


def judged(name):
    """The arm that shows what a search found."""
    return MASKED.all_arms()[OF_MASKED[name]] if name in OF_MASKED else TABLE.all_arms()[name]


def test_two_trained_priors_and_one_that_knows_nothing_meet_the_same_measurements():
    assert (MASKED.manifest, MASKED.select, MASKED.seeds, MASKED.metrics) == (
        TABLE.manifest, TABLE.select, TABLE.seeds, TABLE.metrics,
    )  # fmt: skip
    priors = {name: arm.prior for name, arm in MASKED.all_arms().items()}
    assert priors == {
        "masked": "cifar10-masked", "markov": "cifar10-masked", "discrete": "cifar10", "uninformed": UNINFORMED,
    }  # fmt: skip
    assert {
        name: arm.settings["process"] for name, arm in MASKED.all_arms().items() if name != "markov"
    } == dict.fromkeys(set(priors) - {"markov"}, "star")


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_has_the_common_budget_on_images_that_the_table_does_not_show(name):
    spec, arm = SEARCHES[name]
    method = arm.load_method()
    settings = [method.settings(arm.preset, **(arm.settings | point)) for point in arm.grid]
    assert len(set(map(repr, settings))) == len(settings) == BUDGET
    assert spec.select.skip >= TABLE.select.skip + TABLE.select.limit
    assert (spec.select.skip, spec.select.limit, spec.select.tasks) == (256, 12, None)
    assert (spec.manifest, spec.metrics, spec.seeds) == (TABLE.manifest, TABLE.metrics, TABLE.seeds)
    assert arm.prior == judged(name).prior


@pytest.mark.parametrize("name", sorted(set(SEARCHES) - {"aps", *OF_MASKED}))
def test_a_search_tries_the_papers_own_values(name):
    """As far as so few steps allow: what is not varied or shortened has the paper's value in every trial."""
    _, arm = SEARCHES[name]
    paper = arm.load_method().settings("paper").model_dump()
    last = list(arm.grid)[-1]
    same = {"variance": "posterior"}  # what `learned` comes to where the network learned none
    assert all(value == paper[key] or same.get(key) == value for key, value in last.items())


def test_star_and_markov_had_the_same_settings_as_aps_on_both_discrete_priors():
    (tried,) = {
        frozenset((point["eta_kl"], point["learning_rate"], point["gamma"]) for point in SEARCHES[name][1].grid)
        for name in ("aps", *OF_MASKED)
    }
    first = {(0.0003, rate, gamma) for rate in (10, 20, 40) for gamma in (0, 0.05, 0.3)}
    second = {(eta, rate, gamma) for eta in (0.0001, 0.001) for rate in (20, 40) for gamma in (0.1, 0.3)}
    assert tried == first | second
    assert "10, 20, 40 times gamma 0, 0.05, 0.3" in read_tuned(CATALOG["cifar10"].folder)["g2d2"]["found_by"]


@pytest.mark.parametrize("name", SEARCHES)
def test_what_was_found_ships_with_the_prior(name):
    arm = judged(name)
    method = find_method(arm.method)
    tuned = tuned_settings(locate_prior(arm.prior).folder, method)
    if tuned is None:
        pytest.skip(f"{arm.method} is not tuned for {arm.prior}")
    _, searched = SEARCHES[name]
    tried = [method.settings(searched.preset, **(searched.settings | point)) for point in searched.grid]
    for task in TASKS:
        assert tuned.settings(method, task, arm.settings) in tried


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("preset", "searches"),
    [("fast", ["fast", "best"]), ("best", ["fast", "best", "together"]), ("protocol", ["protocol"])],
)
def test_a_preset_was_tried_on_other_images_than_it_is_judged_on(preset, searches, task):
    judge, method, folder = load_spec(PRESETS / "judge.yaml"), find_method("g2d2"), locate_prior("cifar10").folder
    specs = [load_spec(PRESETS / f"{name}.yaml") for name in searches]
    assert all(spec.select.skip >= judge.select.skip + judge.select.limit for spec in specs)
    tried = [
        tuned_settings(folder, method).settings(method, task, arm.settings | point)
        for spec in specs for arm in spec.all_arms().values() for point in arm.grid
    ]  # fmt: skip
    assert tuned_settings(folder, method, preset).settings(method, task, {}) in tried


@pytest.mark.parametrize("name", ["published-deblurring", "published-sr"])
def test_the_published_loop_runs_at_the_rates_of_the_protocol(name):
    spec, method = load_spec(PRESETS / f"{name}.yaml"), find_method("g2d2")
    (task,) = spec.select.tasks
    protocol = tuned_settings(locate_prior("cifar10").folder, method, "protocol").settings(method, task, {})
    given = spec.all_arms()["published"].settings
    assert given == {key: getattr(protocol, key) for key in given}
    assert {"process", "steps", "iterations", "learning_rate", "eta_kl", "gamma", "guidance"} == set(given)


@pytest.mark.slow
def test_the_picture_shows_every_arm_of_a_sweep(local_ray, tmp_path):
    build_manifest(BuildSettings(source="cifar10-heldout", tasks=TASKS, limit=4), str(tmp_path / "manifest"))
    values = {
        "name": "two",
        "manifest": str(tmp_path / "manifest"),
        "output": str(tmp_path / "out"),
        "arms": {"wiener": {"method": "wiener", "grid": {"cross": {"noise_to_signal": [0.02, 9.0]}}},
                 "bicubic": {"method": "bicubic"}},
        "metrics": ["psnr"],
        "tracking": {"enabled": False},
    }  # fmt: skip
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    assert run("sweep", tmp_path / "s.yaml") == 0
    words = [EXAMPLES / "picture.py", tmp_path / "out", tmp_path / "picture.png"]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    picture = Image.open(tmp_path / "picture.png").convert("RGB")
    assert picture.height == 2 * (26 + 4 * 70)  # truth, measured, wiener, bicubic in both tasks
    # bicubic leaves what is blurred as it was measured
    truth, measured, wiener, _ = (picture.crop((90, 26 + 70 * row, 154, 90 + 70 * row)).tobytes() for row in range(4))
    assert len({truth, measured, wiener}) == 3
