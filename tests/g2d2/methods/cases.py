"""Every method on Gaussian diffusions with short settings, and operators of every kind, for tests that run over all."""

import torch

from g2d2.methods import find_method
from operators import build_operator
from tests.g2d2.methods.gaussian_prior import GaussianLatents, GaussianPrior, covariance_of, rotation

SHAPE = (3, 8, 8)

SHORT = {
    "daps": {"steps": 4, "iterations": 3, "ode_steps": 2, "learning_rate": 1e-4},
    "ddrm": {"steps": 5},
    "diffpir": {"steps": 5, "solver_iterations": 4},
    "dps": {"steps": 5},
    "pigdm": {"steps": 5, "solver_iterations": 4},
    "psld": {"steps": 5},
    "resample": {
        "steps": 6,
        "resample_every": 1,
        "pixel_iterations": 3,
        "latent_iterations": 2,
        "lookahead": 1,
        "stop": "noise",
    },
}
OF_LATENTS = ("psld", "resample")
EITHER = ("dps", "daps")

OPERATORS = {
    "identity": {},
    "super_resolution": {"factor": 4},
    "gaussian_blur": {"kernel_size": 9, "std": 1.5},
    "motion_blur": {"kernel_size": 5, "angle": 30.0},
    "random_inpainting": {"keep": 0.5},
    "box_inpainting": {"top": 2, "left": 2, "height": 3, "width": 4},
}
NOT_FOR = {("ddrm", "motion_blur")}
"""What the mathematics does not allow: no singular value decomposition is known."""


def operator_of(name, shape=SHAPE):
    return build_operator(name, OPERATORS[name], x_shape=shape)


def prior_for(method, shape=SHAPE, **options):
    """A Gaussian prior of the kind that a method needs."""
    size = shape[0] * shape[1] * shape[2]
    options = {"covariance": covariance_of(size), "train_steps": 20} | options
    if method in OF_LATENTS:
        return GaussianLatents(
            shape, turn=rotation(size, 5), z_shape=(shape[0] * 4, shape[1] // 2, shape[2] // 2), **options
        )
    return GaussianPrior(shape, **options)


def settings_for(method, **changes):
    return find_method(method).settings(**SHORT[method] | changes)


def measurements(operator, rows, sigma=0.05, dtype=torch.float64):
    generator = torch.Generator().manual_seed(3)
    x = torch.rand(rows, *operator.x_shape, generator=generator, dtype=torch.float64).mul(2).sub(1)
    clean = operator(x)
    noise = operator.mask_noise(torch.randn(clean.shape, generator=generator, dtype=torch.float64))
    return (clean + sigma * noise).to(dtype)
