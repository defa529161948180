"""Gradient-guided discrete diffusion: noise processes, the variational step, solvers and priors."""

from operators.torchvision_guard import ensure_torchvision_imports

ensure_torchvision_imports()
