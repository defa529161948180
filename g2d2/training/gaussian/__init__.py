"""Continuous diffusion priors: a `UNet2DModel` on pixels or on a tokeniser's latents."""
