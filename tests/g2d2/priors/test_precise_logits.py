"""Transformers in half precision give logits in full, in every family of discrete priors."""

import pytest
import torch

from g2d2.priors import random_prior
from g2d2.priors.base import Discrete
from g2d2.priors.families import FAMILIES, find_family
from g2d2.priors.masked_image.random_masked import random_masked_prior
from g2d2.priors.masked_motion.random_motion import random_motion_prior

LAST_LAYERS = {
    "vq_diffusion": (random_prior, lambda prior: prior.components.transformer.out),
    "masked_image": (random_masked_prior, lambda prior: prior.parts.transformer.mlm_layer.conv2),
    "masked_motion": (random_motion_prior, lambda prior: prior.components.transformer.head),
}
"""By family, a prior and where its transformer makes logits; what comes behind may cast them."""


def test_every_family_of_discrete_priors_is_among_them():
    assert {name for name in FAMILIES.homes if issubclass(find_family(name).kind, Discrete)} == set(LAST_LAYERS)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("family", LAST_LAYERS)
def test_the_last_layer_itself_gives_full_precision(family, dtype):
    """A number that was rounded to half precision is no better for being cast afterwards."""
    make, last_layer = LAST_LAYERS[family]
    prior, given = make(dtype=dtype), []
    last_layer(prior).register_forward_hook(lambda layer, inputs, output: given.append((inputs[0].dtype, output.dtype)))
    z_t = torch.full((2, prior.num_tokens), prior.mask_id)
    log_p = prior.log_probs(z_t, 5, prior.condition(["a"] * 2, [2.0, 1.0]))
    full = torch.float64 if dtype == torch.float64 else torch.float32
    assert log_p.dtype == full
    assert set(given) == {(full, full)}
    parts = prior.parts if family == "masked_image" else prior.components
    assert sum(weight.dtype == dtype for weight in parts.transformer.parameters()) > 1  # and only its last layer
