"""One step of the loop on the published architecture: 4096 codes, 1024 tokens, 256x256 images, random weights."""

import pytest
import torch

from g2d2.priors import ITHQ, random_prior
from g2d2.settings import solver_settings
from g2d2.solver import solve
from operators import TASKS, measure


@pytest.mark.slow
def test_one_step_of_the_loop_at_full_size():
    prior = random_prior(ITHQ.with_layers(2))
    assert prior.image_shape == (3, 256, 256)
    assert prior.num_tokens == 1024
    assert prior.codebook.shape == (4096, 128)
    operator = TASKS["gaussian-deblur-256"].build()
    truth = torch.rand(2, 3, 256, 256, generator=torch.Generator().manual_seed(0)) * 2 - 1
    y = measure(operator, truth, sigma=0.05, seeds=[0, 1])
    rows = [
        solver_settings("paper", "imagenet-gaussian-deblur", process=process, steps=1, iterations=2)
        for process in ("star", "markov")
    ]
    result = solve(prior, operator, y, rows, prompts="a photo of a dog", seeds=[0, 1], prior_samples_at=[1])
    assert result.images.shape == (2, 3, 256, 256)
    assert result.images.isfinite().all()
    assert (result.tokens < 4096).all()
    assert result.trace.total.isfinite().all()
    assert result.trace.prior_samples[1].shape == (2, 3, 256, 256)
