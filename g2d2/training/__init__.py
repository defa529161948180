"""Training of the embedded priors on CIFAR-10 and on captured motion, one family of recipes per kind of prior."""

FAMILY_NAMES = ("vq_diffusion", "pixel_diffusion", "latent_diffusion", "masked_image", "masked_motion")
"""Families that `g2d2.training.recipes` can train."""
