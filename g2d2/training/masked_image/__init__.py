"""Masked token modelling as aMUSEd does it: a `UVit2DModel` over the tokens of a `VQModel`."""
