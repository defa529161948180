"""Diffusion of pixels by a UNet: DDPM and ADM, from folders and from original checkpoints."""
