"""Masked generative priors of human motion: MMM's published checkpoints and the small one that is embedded."""
