"""What was measured in a task, as the head of its card says it."""

import pytest

from eval.report.content import TaskFacts


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (
            TaskFacts("super_resolution", {"factor": 4, "seed": None}, 0.05, (3, 32, 48), 192),
            "super_resolution, factor 4, sigma 0.05, 48x32",
        ),
        (
            TaskFacts(
                "path",
                {"joints": ("pelvis", "head"), "keyframes": 5, "frames": None, "axes": "xyz"},
                0.0,
                (196, 263),
                15,
            ),
            "path, joints pelvis head, keyframes 5, axes xyz, sigma 0",
        ),
    ],
)
def test_words(facts, words):
    assert facts.words == words
