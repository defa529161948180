"""Inverse problems with generative priors: methods, priors, and the mathematics of discrete diffusion.

The names below load on first use: the libraries behind priors take seconds to import, and most commands need none.
"""

from typing import TYPE_CHECKING

from operators.on_first_use import on_first_use
from operators.torchvision_guard import guard_torchvision

if TYPE_CHECKING:
    from g2d2.methods import Method, MethodSettings, Solution, find_method, solve
    from g2d2.priors import load_prior

__all__ = ["Method", "MethodSettings", "Solution", "find_method", "load_prior", "solve"]

__getattr__ = on_first_use(
    __name__,
    {
        "Method": "methods",
        "MethodSettings": "methods",
        "Solution": "methods",
        "find_method": "methods",
        "load_prior": "priors",
        "solve": "methods",
    },
)

guard_torchvision()
