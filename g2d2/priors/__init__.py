"""Priors: frozen generative models over discrete tokens."""

from g2d2.priors.base import Condition, Prior
from g2d2.priors.loading import load_prior
from g2d2.priors.random_weights import ITHQ, TINY, Architecture, random_prior
from g2d2.priors.vq_diffusion import Components, VQDiffusionPrior

__all__ = [
    "ITHQ",
    "TINY",
    "Architecture",
    "Components",
    "Condition",
    "Prior",
    "VQDiffusionPrior",
    "load_prior",
    "random_prior",
]
