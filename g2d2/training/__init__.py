"""Training of the embedded priors on CIFAR-10, one family of recipes per kind of prior."""

FAMILY_NAMES = ("vq_diffusion", "pixel_diffusion", "latent_diffusion", "masked_image")
"""Families that `g2d2.training.recipes` can train."""
