"""Anchored posterior sampling as a preset of G2D2."""

import torch

from g2d2.methods import find_method
from g2d2.priors import random_prior
from operators import build_operator, measure

METHOD = find_method("g2d2")


def test_it_differs_from_the_papers_g2d2_in_three_settings():
    paper, aps = (METHOD.settings(preset).model_dump() for preset in ("paper", "aps"))
    assert {name: aps[name] for name in paper if paper[name] != aps[name]} == {
        "relaxation": "quantized-expectation",
        "remasking": "posterior-confidence",
        "steps": 15,
    }


def test_it_unmasks_an_exact_count_per_step_and_a_row_is_its_own():
    prior = random_prior(dtype=torch.float64)
    operator = build_operator("super_resolution", {"factor": 2}, x_shape=prior.x_shape)
    truth = torch.rand(3, *prior.x_shape, generator=torch.Generator().manual_seed(0)).mul(2).sub(1).double()
    y = measure(operator, truth, sigma=0.05, seeds=range(3))
    settings = METHOD.settings("aps", steps=5, iterations=4, learning_rate=1.0, guidance=1.0)
    together = METHOD.run(prior, operator, y, settings, prompts="a", seeds=[1, 2, 3])
    assert together.x.isfinite().all()
    masked = together.curves["masked"]
    assert (masked == masked[0]).all()
    alone = METHOD.run(prior, operator, y[1:2], settings, prompts="a", seeds=[2])
    torch.testing.assert_close(alone.x[0], together.x[1], rtol=1e-9, atol=1e-9)
