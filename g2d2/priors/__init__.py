"""Priors: frozen generative models, by kind and by family.

The names below load on first use: the catalog and the checks of a folder need none of the libraries behind the models.
"""

from typing import TYPE_CHECKING

from operators.on_first_use import on_first_use

if TYPE_CHECKING:
    from g2d2.priors.base import Condition, Denoised, Diffusion, Discrete, Latent, Prior, PriorFacts
    from g2d2.priors.families import FAMILIES, Family, prior_digest, recognise
    from g2d2.priors.latent_diffusion.latent_prior import LatentDiffusionPrior
    from g2d2.priors.loading import load_prior
    from g2d2.priors.locating import LocatedPrior, locate_prior
    from g2d2.priors.masked_image.masked_prior import MaskedImagePrior
    from g2d2.priors.resized import Resized
    from g2d2.priors.unet_prior import UNetPrior
    from g2d2.priors.vq_diffusion.components import Components
    from g2d2.priors.vq_diffusion.prior import VQDiffusionPrior
    from g2d2.priors.vq_diffusion.random_weights import ITHQ, TINY, Architecture, random_prior

__all__ = [
    "FAMILIES",
    "ITHQ",
    "TINY",
    "Architecture",
    "Components",
    "Condition",
    "Denoised",
    "Diffusion",
    "Discrete",
    "Family",
    "Latent",
    "LatentDiffusionPrior",
    "LocatedPrior",
    "MaskedImagePrior",
    "Prior",
    "PriorFacts",
    "Resized",
    "UNetPrior",
    "VQDiffusionPrior",
    "load_prior",
    "locate_prior",
    "prior_digest",
    "random_prior",
    "recognise",
]

__getattr__ = on_first_use(
    __name__,
    {
        "FAMILIES": "families",
        "ITHQ": "vq_diffusion.random_weights",
        "TINY": "vq_diffusion.random_weights",
        "Architecture": "vq_diffusion.random_weights",
        "Components": "vq_diffusion.components",
        "Condition": "base",
        "Denoised": "base",
        "Diffusion": "base",
        "Discrete": "base",
        "Family": "families",
        "Latent": "base",
        "LatentDiffusionPrior": "latent_diffusion.latent_prior",
        "LocatedPrior": "locating",
        "MaskedImagePrior": "masked_image.masked_prior",
        "Prior": "base",
        "PriorFacts": "base",
        "Resized": "resized",
        "UNetPrior": "unet_prior",
        "VQDiffusionPrior": "vq_diffusion.prior",
        "load_prior": "loading",
        "locate_prior": "locating",
        "prior_digest": "families",
        "random_prior": "vq_diffusion.random_weights",
        "recognise": "families",
    },
)
