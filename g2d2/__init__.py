"""Gradient-guided discrete diffusion: noise processes, the variational step, solvers and priors.

The names below load on first use: the libraries behind priors take seconds to import, and most commands need none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from operators.torchvision_guard import ensure_torchvision_imports

if TYPE_CHECKING:
    from g2d2.priors import load_prior
    from g2d2.settings import G2D2Settings, solver_settings
    from g2d2.solver import Reconstruction, solve

__all__ = ["G2D2Settings", "Reconstruction", "load_prior", "solve", "solver_settings"]

_HOMES = {
    "G2D2Settings": "g2d2.settings",
    "Reconstruction": "g2d2.solver",
    "load_prior": "g2d2.priors",
    "solve": "g2d2.solver",
    "solver_settings": "g2d2.settings",
}

ensure_torchvision_imports()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'g2d2' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
