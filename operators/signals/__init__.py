"""Signals by name: what x is. `image` and `motion` are ours; others come as `module:thing` or from packages."""

from typing import TYPE_CHECKING, Any

from operators.extensions import Extensions, subclass_of
from operators.on_first_use import on_first_use

if TYPE_CHECKING:
    from operators.signals.base import Signal

__all__ = ["SIGNALS", "Signal", "find_signal"]


def _not_a_signal(thing: Any) -> str | None:
    from operators.signals.base import Signal  # torch, which the names alone do without

    return subclass_of(Signal)(thing)


SIGNALS: "Extensions[type[Signal]]" = Extensions(
    "signal",
    "g2d2.signals",
    {"image": "operators.signals.image:Image", "motion": "operators.signals.motion:Motion"},
    _not_a_signal,
)


def find_signal(name: str) -> "Signal":
    """The signal called so."""
    return SIGNALS.find(name)()


__getattr__ = on_first_use(__name__, {"Signal": "base"})
