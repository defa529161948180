"""Settings that ship with a prior: layered, checked, and used by the commands."""

import json

import pytest

from g2d2.methods import find_method
from g2d2.methods.tuned import FILE, tuned_settings
from g2d2.priors.catalog import CATALOG
from operators import TASKS, InputError

METHOD = find_method("g2d2")


def write(folder, method="g2d2", **values):
    (folder / FILE).write_text(json.dumps({method: {"found_by": "trying"} | values}))
    return folder


def case(when, **settings):
    return {"when": when, "settings": settings}


def test_task_and_process_come_on_top_of_what_is_shared(tmp_path):
    cases = [case({"process": "markov"}, gamma=0.1)]
    tuned = tuned_settings(write(tmp_path, shared={"steps": 7, "gamma": 0.5}, tasks={"sr4-32": cases}), METHOD)
    markov, star = {"process": "markov"}, {"process": "star"}
    assert tuned.settings(METHOD, "sr4-32", markov).gamma == 0.1
    assert tuned.settings(METHOD, "sr4-32", star).gamma == 0.5
    assert tuned.settings(METHOD, "other", markov | {"gamma": 0.9}).gamma == 0.9
    assert tuned.settings(METHOD, "sr4-32", markov | {"gamma": 0.9}).gamma == 0.9
    assert {tuned.settings(METHOD, None, {}).steps, tuned.settings(METHOD, "sr4-32", {}).steps} == {7}
    assert tuned.settings(METHOD, "sr4-32", markov).process == "markov"


def test_the_first_case_that_applies_is_taken_and_one_without_conditions_always_does(tmp_path):
    cases = [case({"process": "markov", "steps": 9}, gamma=0.1), case({}, gamma=0.2), case({}, gamma=0.3)]
    tuned = tuned_settings(write(tmp_path, preset="reference", tasks={"t": cases}), METHOD)
    assert tuned.settings(METHOD, "t", {"steps": 9}).gamma == 0.1  # `reference` is markov by itself
    assert tuned.settings(METHOD, "t", {"steps": 8}).gamma == 0.2
    assert tuned.settings(METHOD, "t", {}).remasking == "exact-count"


def test_a_prior_without_them_has_none(tmp_path):
    assert tuned_settings(tmp_path, METHOD) is None
    assert tuned_settings(None, METHOD) is None
    assert tuned_settings(write(tmp_path, method="wiener"), METHOD) is None


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"shared": {"gama": 1}, "tasks": {"t": [case({})]}}, "unknown setting 'gama'"),
        (
            {"tasks": {"t": [case({"process": "star"}, gamma=2)]}},
            "t, {'process': 'star'}: settings of g2d2: gamma is 2",
        ),
        ({"tasks": {"t": [case({"process": "sideways"})]}}, "sideways"),
        ({"task": {}}, "unknown setting 'task'"),
    ],
)
def test_bad_ones_are_named(values, sentence, tmp_path):
    with pytest.raises(InputError) as caught:
        tuned_settings(write(tmp_path, **values), METHOD)
    assert sentence in str(caught.value)
    assert FILE in str(caught.value)


def test_the_embedded_prior_ships_them_for_both_tasks_and_processes():
    tuned = tuned_settings(CATALOG["cifar10"].folder, METHOD)
    assert tuned is not None
    for task in ("sr4-32", "gaussian-deblur-32"):
        assert task in TASKS
        assert {case.when.get("process") for case in tuned.tasks[task]} == {"star", "markov", None}  # the last is APS
        star, markov = (tuned.settings(METHOD, task, {"process": process}) for process in ("star", "markov"))
        assert (star.process, markov.process) == ("star", "markov")
        assert (star.steps, star.iterations, star.code_moves) == (markov.steps, markov.iterations, markov.code_moves)


def test_further_presets_start_from_the_method_and_not_from_what_is_tuned(tmp_path):
    others = {"fast": {"found_by": "trying", "shared": {"steps": 3}, "tasks": {"sr4-32": [case({}, gamma=0.2)]}}}
    folder = write(tmp_path, shared={"steps": 7, "iterations": 2}, others=others)
    fast = tuned_settings(folder, METHOD, "fast").settings(METHOD, "sr4-32", {})
    assert (fast.steps, fast.gamma, fast.iterations) == (3, 0.2, METHOD.settings().iterations)
    assert tuned_settings(folder, METHOD).settings(METHOD, "sr4-32", {}).steps == 7
    assert tuned_settings(folder, METHOD, "best") is None


def test_a_further_preset_with_a_bad_value_is_named(tmp_path):
    others = {"fast": {"found_by": "trying", "tasks": {"sr4-32": [case({}, gamma=7)]}}}
    with pytest.raises(InputError, match="fast, sr4-32"):
        tuned_settings(write(tmp_path, others=others), METHOD)


@pytest.mark.parametrize("task", ["sr4-32", "gaussian-deblur-32", "inpaint-box-32", "inpaint-random-32"])
def test_the_embedded_prior_ships_presets_by_how_often_they_decode(task):
    def calls(preset):
        return METHOD.work(tuned_settings(CATALOG["cifar10"].folder, METHOD, preset).settings(METHOD, task, {}))[1]

    assert calls("fast") <= 100 < calls("tuned") <= calls("best") < calls("protocol") == 3000


@pytest.mark.parametrize("task", [None, "a task of one's own"])
@pytest.mark.parametrize("preset", ["fast", "best"])
def test_what_was_not_searched_takes_the_settings_of_deblurring(preset, task):
    """Else a task without a case would fall back to the steps and iterations of the paper."""
    tuned = tuned_settings(CATALOG["cifar10"].folder, METHOD, preset)
    assert tuned.settings(METHOD, task, {}) == tuned.settings(METHOD, "gaussian-deblur-32", {})
    assert METHOD.work(tuned.settings(METHOD, task, {}))[1] == {"fast": 100, "best": 1600}[preset]
