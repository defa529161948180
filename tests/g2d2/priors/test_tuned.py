"""Settings that ship with a prior: layered, checked, and used by the commands."""

import json

import pytest

from g2d2.priors.catalog import CATALOG
from g2d2.priors.tuned import FILE, tuned_settings
from operators import TASKS, InputError


def write(folder, **values):
    (folder / FILE).write_text(json.dumps({"found_by": "trying"} | values))
    return folder


def test_task_and_process_come_on_top_of_what_is_shared(tmp_path):
    tuned = tuned_settings(
        write(tmp_path, shared={"steps": 7, "gamma": 0.5}, tasks={"sr4-32": {"markov": {"gamma": 0.1}}})
    )
    assert tuned.settings("sr4-32", "markov").gamma == 0.1
    assert tuned.settings("sr4-32", "star").gamma == 0.5
    assert tuned.settings("other", "markov", gamma=0.9).gamma == 0.9
    assert {tuned.settings(None).steps, tuned.settings("sr4-32").steps} == {7}
    assert tuned.settings("sr4-32", "markov").process == "markov"


def test_a_prior_without_them_has_none(tmp_path):
    assert tuned_settings(tmp_path) is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"shared": {"gama": 1}, "tasks": {"t": {"star": {}}}}, "unknown setting 'gama'"),
        ({"tasks": {"t": {"star": {"gamma": 2}}}}, "t, star: solver settings: gamma is 2"),
        ({"tasks": {"t": {"sideways": {}}}}, "sideways"),
    ],
)
def test_bad_ones_are_told(values, said, tmp_path):
    with pytest.raises(InputError) as caught:
        tuned_settings(write(tmp_path, **values))
    assert said in str(caught.value)


def test_the_embedded_prior_ships_them_for_both_tasks_and_processes():
    tuned = tuned_settings(CATALOG["cifar10"].folder)
    assert tuned is not None
    for task in ("sr4-32", "gaussian-deblur-32"):
        assert task in TASKS
        assert set(tuned.tasks[task]) == {"star", "markov"}
        star, markov = (tuned.settings(task, process) for process in ("star", "markov"))
        assert (star.steps, star.iterations, star.code_moves) == (markov.steps, markov.iterations, markov.code_moves)
