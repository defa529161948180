"""Masked generative models of images as aMUSEd is one: a `UVit2DModel` over the tokens of a `VQModel`."""
