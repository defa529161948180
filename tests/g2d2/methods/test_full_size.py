"""One step of the loop on the published architectures at 256x256, random weights."""

import pytest
import torch

from g2d2.methods.g2d2 import G2D2
from g2d2.priors import ITHQ, random_prior
from g2d2.priors.masked_image.random_masked import AMUSED_256, random_masked_prior
from operators import TASKS, measure


def one_step(prior):
    operator = TASKS["gaussian-deblur-256"].build()
    truth = torch.rand(2, 3, 256, 256, generator=torch.Generator().manual_seed(0)) * 2 - 1
    y = measure(operator, truth, sigma=0.05, seeds=[0, 1])
    method = G2D2()
    rows = [
        method.settings("paper", "imagenet-gaussian-deblur", process=process, steps=1, iterations=2)
        for process in ("star", "markov")
    ]
    result = method.run(prior, operator, y, rows, prompts="a photo of a dog", seeds=[0, 1], snapshots_at=[1])
    assert result.x.shape == (2, 3, 256, 256)
    assert result.x.isfinite().all()
    assert (result.latent < len(prior.codebook)).all()
    assert result.curves["total"].isfinite().all()
    assert result.snapshots[1].shape == (2, 3, 256, 256)


@pytest.mark.slow
def test_one_step_of_the_loop_at_full_size():
    prior = random_prior(ITHQ.with_layers(2))
    assert prior.x_shape == (3, 256, 256)
    assert prior.num_tokens == 1024
    assert prior.codebook.shape == (4096, 128)
    one_step(prior)


@pytest.mark.slow
def test_one_step_of_the_loop_on_amused():
    prior = random_masked_prior(AMUSED_256.with_layers(2, 2))
    assert prior.x_shape == (3, 256, 256)
    assert prior.num_tokens == 256
    assert prior.codebook.shape == (8192, 64)
    assert prior.mask_id == 8255
    one_step(prior)
