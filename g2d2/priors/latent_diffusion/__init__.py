"""Diffusion of an autoencoder's latents by a UNet: latent diffusion and Stable Diffusion."""
