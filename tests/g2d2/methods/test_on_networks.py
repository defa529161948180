"""Methods on small diffusion networks: frozen weights, finite results, and the same bits for a row in any batch."""

import pytest
import torch

from g2d2.methods import find_method
from g2d2.priors import load_prior
from g2d2.priors.random_unets import save_latent, save_pixel
from operators import build_operator, stack_operators
from tests.g2d2.methods.cases import OF_LATENTS, SHORT, measurements, settings_for

ROWS = 10


@pytest.fixture(scope="module")
def priors(tmp_path_factory):
    """A pixel prior that learned its variance, and a latent one; untrained, they predict the clean image."""
    bounded = {"prediction_type": "sample"}
    pixel = save_pixel(tmp_path_factory.mktemp("pixel"), scheduler=bounded | {"variance_type": "learned_range"})
    latent = save_latent(tmp_path_factory.mktemp("latent"), scheduler=bounded)
    return {"pixel": load_prior(str(pixel)), "latent": load_prior(str(latent))}


@pytest.fixture(params=[(name, kind) for name in SHORT for kind in ("pixel", "latent")], ids=" on ".join)
def case(request, priors):
    method, kind = request.param
    either = method in ("dps", "daps")
    if not either and (kind == "latent") != (method in OF_LATENTS):
        pytest.skip("needs the other kind of prior")
    prior = priors[kind]
    names = ["super_resolution", "gaussian_blur"]
    settings = [{"factor": 2}, {"kernel_size": 5, "std": 1.0}]
    operators = [build_operator(*each, x_shape=prior.x_shape) for each in zip(names, settings, strict=True)]
    return method, prior, operators


def test_a_row_has_the_same_bits_alone_and_in_any_batch(case):
    method, prior, operators = case
    for operator in operators:
        y = measurements(operator, ROWS, dtype=torch.float32)
        solve = lambda rows, op=operator, y=y: (  # noqa: E731
            find_method(method)
            .run(prior, stack_operators([op] * len(rows)), y[rows], settings_for(method), seeds=rows, sigma=0.05)
            .x
        )
        together = solve(list(range(ROWS)))
        assert together.isfinite().all()
        assert torch.equal(solve([3])[0], together[3])
        assert torch.equal(solve([9, 3, 0]), together[[9, 3, 0]])


def test_weights_stay_frozen(case):
    method, prior, (operator, _) = case
    weights = [parameter for network in prior.networks for parameter in network.parameters()]
    before = [parameter.clone() for parameter in weights]
    find_method(method).run(prior, operator, measurements(operator, 2), settings_for(method), seeds=[0, 1])
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in weights)
    assert all(map(torch.equal, before, weights))
