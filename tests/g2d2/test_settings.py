"""Presets, the paper's table and bad values."""

import pytest

from g2d2.settings import BATCH_FIELDS, EXPERIMENTS, PRESETS, ROW_FIELDS, G2D2Settings, solver_settings
from operators import InputError


def test_paper_is_the_default():
    assert PRESETS["paper"] == G2D2Settings()
    paper = solver_settings("paper", "ffhq-sr4")
    assert (paper.process, paper.steps, paper.iterations, paper.gamma, paper.eta_kl) == ("star", 100, 30, 0.3, 0.0003)
    assert (paper.learning_rate, paper.lambda_lr, paper.lambda_kl, paper.guidance) == (10.0, 2.0, 2.0, 3.0)


def test_the_paper_and_its_published_code_differ_where_the_facts_say():
    def difference(experiment):
        paper, code = solver_settings("paper", experiment), solver_settings("reference", experiment)
        return {name for name in G2D2Settings.model_fields if getattr(paper, name) != getattr(code, name)}

    always = {"process", "remasking", "top_p", "kl_gradient", "weight_schedule", "beta_denominator"}
    assert difference("imagenet-gaussian-deblur") == always
    assert difference("imagenet-sr4") == always | {"lambda_lr"}
    assert difference("ffhq-gaussian-deblur") == always | {"guidance"}


def test_every_experiment_of_the_table_is_valid_in_both_presets():
    for preset, experiments in EXPERIMENTS.items():
        assert len(experiments) == 4
        for name in experiments:
            solver_settings(preset, name)


def test_every_field_is_a_row_field_or_a_batch_field_and_is_documented():
    assert set(ROW_FIELDS) | set(BATCH_FIELDS) == set(G2D2Settings.model_fields)
    assert not set(ROW_FIELDS) & set(BATCH_FIELDS)
    assert all(field.description for field in G2D2Settings.model_fields.values())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"eta_kl": -1.0}, ["eta_kl", "-1"]),
        ({"gamma": 1.5}, ["gamma", "1.5"]),
        ({"process": "stars"}, ["process", "stars", "markov"]),
        ({"learning_rate": float("nan")}, ["learning_rate", "nan"]),
        ({"etakl": 1.0}, ["etakl"]),
        ({"iterations": 0}, ["iterations", "0"]),
    ],
)
def test_bad_values_are_named(changes, words):
    with pytest.raises(InputError) as error:
        solver_settings(**changes)
    message = str(error.value)
    assert all(word in message for word in words), message
    assert "\n" not in message


@pytest.mark.parametrize(("preset", "experiment"), [("papers", None), ("paper", "imagenet")])
def test_unknown_names_list_what_is_known(preset, experiment):
    with pytest.raises(InputError, match="choose one of"):
        solver_settings(preset, experiment)
