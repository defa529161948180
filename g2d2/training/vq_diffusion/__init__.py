"""Discrete diffusion over tokens: a `VQModel` tokeniser and a VQ-Diffusion `Transformer2DModel`."""
