"""What a paired comparison allows to say."""

from dataclasses import replace

import pytest

from eval.metrics import metric_info
from eval.statistics import Interval, PairedResult
from eval.verdicts import images_needed, verdict


def result(low, high, p, images):
    gap = Interval((low + high) / 2, low, high, images, 0.1, images, 0, 0.95)
    return PairedResult("psnr", "star", "markov", 24.0, 23.0, gap, p, None, p_corrected=p)


def words(found, **settings):
    return verdict(metric_info("psnr"), found, "star", "Markov", **settings)


def test_the_words():
    assert words(result(0.1, 0.5, 0.01, 12)) == "star better"
    assert words(result(-0.5, -0.1, 0.01, 12)) == "Markov better"
    assert words(result(0.1, 0.5, 0.2, 12)) == "leans to star (p >= 0.05)"
    assert words(result(-0.1, 0.5, 0.2, 12)) == "no difference shown"


@pytest.mark.parametrize("comparisons", [1, 4, 400])
def test_images_that_could_never_decide_do_not_lean(comparisons):
    needed = images_needed(comparisons)
    leaning = result(0.1, 0.5, 0.2, needed)
    assert words(leaning, comparisons=comparisons) == "leans to star (p >= 0.05)"
    few = replace(leaning, difference=replace(leaning.difference, clusters=needed - 1))
    assert words(few, comparisons=comparisons) == "too few images to tell"
