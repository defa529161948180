"""Solvers by name: functions with the signature of `g2d2.solver.solve`."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from operators import InputError
from operators.validation import did_you_mean, shorten

if TYPE_CHECKING:
    from g2d2.solver import Reconstruction

Solver: TypeAlias = "Callable[..., Reconstruction]"

SOLVERS = {
    "g2d2": "g2d2.solver:solve",
    "wiener": "g2d2.references:wiener",
    "bicubic": "g2d2.references:bicubic",
}
"""Known names with the function behind each."""


def load_solver(name: str) -> Solver:
    """A known name, or `package.module:function` for one of your own."""
    place, _, function = SOLVERS.get(name, name).partition(":")
    try:
        solver: Solver = getattr(import_module(place), function)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise InputError(_refusal(name, " ".join(str(error).split()))) from None
    except (Exception, SystemExit) as error:  # a module of the user's own may raise anything while it is imported
        raise InputError(_refusal(name, f"{place} raised {type(error).__name__}: {shorten(str(error))}")) from error
    if not callable(solver):
        raise InputError(_refusal(name, f"it is {shorten(solver)}, not a function"))
    return solver


def _refusal(name: str, reason: str) -> str:
    return (
        f"solver: {name!r}{did_you_mean(name, SOLVERS)} cannot be loaded ({reason}); use {', '.join(SOLVERS)} or "
        "package.module:function."
    )
