"""Priors: frozen generative models over discrete tokens.

The names below load on first use: the catalog and the checks of a folder need none of the libraries behind the models.
"""

from typing import TYPE_CHECKING

from operators.on_first_use import on_first_use

if TYPE_CHECKING:
    from g2d2.priors.base import Condition, Prior
    from g2d2.priors.checking import check_folder
    from g2d2.priors.digest import prior_digest
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
    "check_folder",
    "load_prior",
    "prior_digest",
    "random_prior",
]

__getattr__ = on_first_use(
    __name__,
    {
        "ITHQ": "random_weights",
        "TINY": "random_weights",
        "Architecture": "random_weights",
        "Components": "vq_diffusion",
        "Condition": "base",
        "Prior": "base",
        "VQDiffusionPrior": "vq_diffusion",
        "check_folder": "checking",
        "load_prior": "loading",
        "prior_digest": "digest",
        "random_prior": "random_weights",
    },
)
