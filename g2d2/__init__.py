"""Gradient-guided discrete diffusion: noise processes, the variational step, solvers and priors.

The names below load on first use: the libraries behind priors take seconds to import, and most commands need none.
"""

from typing import TYPE_CHECKING

from operators.on_first_use import on_first_use
from operators.torchvision_guard import guard_torchvision

if TYPE_CHECKING:
    from g2d2.priors import load_prior
    from g2d2.settings import G2D2Settings, solver_settings
    from g2d2.solver import Reconstruction, solve

__all__ = ["G2D2Settings", "Reconstruction", "load_prior", "solve", "solver_settings"]

__getattr__ = on_first_use(
    __name__,
    {
        "G2D2Settings": "settings",
        "Reconstruction": "solver",
        "load_prior": "priors",
        "solve": "solver",
        "solver_settings": "settings",
    },
)

guard_torchvision()
