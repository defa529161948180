"""The real method, with a fault planted in it on demand.

A night's cells are known by task, method and settings; a bug in the code shows in none of them. So the method is this
one on every night, and a named actor tells which fault it has tonight.
"""

import copy

import ray
import torch
from safetensors.torch import load_file, save_file

from g2d2.methods.g2d2 import G2D2
from operators.gaussian_blur import gaussian_taps

NAME = "nightly-plant"


@ray.remote(num_cpus=0)
class Plant:
    """Tonight's fault."""

    def __init__(self):
        self.fault = None

    def set(self, fault):
        self.fault = fault

    def get(self):
        return self.fault


class Planted(G2D2):
    """G2D2, right or wrong."""

    def run(self, prior, operator, y, settings, *, seeds, **options):
        fault = ray.get(ray.get_actor(NAME).get.remote())
        if fault == "gamma":
            settings = [one.model_copy(update={"gamma": 1 - one.gamma}) for one in settings]
        if fault == "padding":
            operator = padded_wrongly(operator)
        if fault == "seeds":
            seeds = [seed + 1 for seed in seeds]
        if fault == "crash":
            raise RuntimeError("planted")
        return super().run(prior, operator, y, settings, seeds=seeds, **options)


def padded_wrongly(operator):
    """A blur whose padding is off by one: a pixel more on one side than on the other, and no reflection."""
    broken, (size,) = copy.deepcopy(operator), {operator.vertical.shape[-1]}
    settings = operator.settings
    taps = gaussian_taps(settings.radius, settings.std)
    reach = len(taps) // 2
    banded = torch.zeros(size, size + 2 * reach, dtype=taps.dtype)
    for offset, tap in enumerate(taps):
        banded.diagonal(offset).fill_(tap)
    matrix = banded[:, reach - 1 : reach - 1 + size].to(operator.vertical)
    broken.vertical = broken.horizontal = matrix.expand(operator.vertical.shape)
    return broken


def coarsen_decoder(prior, levels=3):
    """Weights of the decoder rounded to a few levels each, as a careless quantisation would."""
    file = prior / "vqvae" / "diffusion_pytorch_model.safetensors"
    weights = load_file(file)
    for name, weight in weights.items():
        if name.startswith("decoder.") and weight.ndim > 1:
            step = weight.abs().max() / levels
            weights[name] = (weight / step).round() * step
    save_file(weights, file)
