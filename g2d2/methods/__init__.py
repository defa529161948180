"""Methods by name: one file each. Others come as `module:thing` or installed entry points."""

from typing import TYPE_CHECKING, Any

from operators.extensions import Extensions
from operators.on_first_use import on_first_use

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from g2d2.methods.base import Batch, Method
    from g2d2.methods.recording import Recorder, Solution
    from g2d2.methods.settings import MethodSettings, free
    from g2d2.priors.base import Prior
    from operators import Operator

__all__ = ["METHODS", "Batch", "Method", "MethodSettings", "Recorder", "Solution", "find_method", "free", "solve"]


def _not_a_method(thing: Any) -> str | None:
    from g2d2.methods.base import Method  # torch, which the names alone do without
    from operators.extensions import subclass_of

    return subclass_of(Method)(thing)


METHODS: "Extensions[type[Method[Any, Any]]]" = Extensions(
    "method",
    "g2d2.methods",
    {
        "bicubic": "g2d2.methods.bicubic:Bicubic",
        "daps": "g2d2.methods.daps:DAPS",
        "ddrm": "g2d2.methods.ddrm:DDRM",
        "diffpir": "g2d2.methods.diffpir:DiffPIR",
        "dps": "g2d2.methods.dps:DPS",
        "g2d2": "g2d2.methods.g2d2:G2D2",
        "pigdm": "g2d2.methods.pigdm:PiGDM",
        "psld": "g2d2.methods.psld:PSLD",
        "resample": "g2d2.methods.resample:ReSample",
        "wiener": "g2d2.methods.wiener:Wiener",
    },
    _not_a_method,
)


def find_method(name: str) -> "Method[Any, Any]":
    """The method called so."""
    return METHODS.find(name)()


def solve(
    prior: "Prior | None",
    operator: "Operator",
    y: "Tensor",
    settings: "MethodSettings | Sequence[MethodSettings] | None" = None,
    *,
    method: str = "g2d2",
    seeds: "Sequence[int]",
    **options: Any,
) -> "Solution":
    """Restore measurements y (B, ...) with a method of that name; see `Method.run` for the options."""
    chosen = find_method(method)
    return chosen.run(prior, operator, y, chosen.settings() if settings is None else settings, seeds=seeds, **options)


__getattr__ = on_first_use(
    __name__,
    {
        "Batch": "base",
        "Method": "base",
        "MethodSettings": "settings",
        "Recorder": "recording",
        "Solution": "recording",
        "free": "settings",
    },
)
