"""Presets, the paper's table and bad values."""

import pytest

from g2d2.methods.g2d2 import G2D2
from g2d2.methods.g2d2_settings import EXPERIMENTS, PRESETS, G2D2Settings
from operators import InputError

settings = G2D2().settings


def test_paper_is_the_default():
    assert next(iter(PRESETS)) == "paper"
    assert settings() == settings("paper") == G2D2Settings()
    paper = settings("paper", "ffhq-sr4")
    assert (paper.process, paper.steps, paper.iterations, paper.gamma, paper.eta_kl) == ("star", 100, 30, 0.3, 0.0003)
    assert (paper.learning_rate, paper.lambda_lr, paper.lambda_kl, paper.guidance) == (10.0, 2.0, 2.0, 3.0)


def test_motion_has_the_settings_of_the_papers_motion_experiment():
    motion = settings("motion")
    assert (motion.steps, motion.iterations, motion.optimizer, motion.temperature) == (25, 20, "adam", 1.0)
    assert (motion.learning_rate, motion.lambda_lr, motion.eta_kl, motion.lambda_kl) == (0.3, 1.0, 0.05, 0.0)
    assert (motion.gamma, motion.guidance) == (0.7, 1.0)


def test_the_paper_and_its_published_code_differ_where_the_facts_say():
    def difference(experiment):
        paper, code = settings("paper", experiment), settings("reference", experiment)
        return {name for name in G2D2Settings.model_fields if getattr(paper, name) != getattr(code, name)}

    always = {"process", "remasking", "top_p", "kl_gradient", "weight_schedule", "beta_denominator"} | {
        "truncation", "spacing"
    }  # fmt: skip
    assert difference("imagenet-gaussian-deblur") == always
    assert difference("imagenet-sr4") == always | {"lambda_lr"}
    assert difference("ffhq-gaussian-deblur") == always | {"guidance"}


def test_every_experiment_of_the_table_is_valid_in_both_presets():
    for preset, experiments in EXPERIMENTS.items():
        assert len(experiments) == 4
        for name in experiments:
            settings(preset, name)


def test_every_field_is_free_per_row_or_shared_and_is_documented():
    free, shared = set(G2D2Settings.free_fields()), set(G2D2Settings.shared_fields())
    assert free | shared == set(G2D2Settings.model_fields)
    assert not free & shared
    assert free == {
        "process", "eta_kl", "gamma", "learning_rate", "lambda_kl", "lambda_lr", "guidance", "temperature",
        "discrepancy", "iterations",
    }  # fmt: skip
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
        settings(**changes)
    message = str(error.value)
    assert all(word in message for word in words), message
    assert "\n" not in message


@pytest.mark.parametrize(("preset", "experiment"), [("papers", None), ("paper", "imagenet")])
def test_unknown_names_list_what_is_known(preset, experiment):
    with pytest.raises(InputError, match="choose one of"):
        settings(preset, experiment)
