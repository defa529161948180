"""How cells are called, everywhere: `star, eta_kl=0.0003, gamma=0.1` beside its task, which comes first elsewhere.

A cell belongs to an arm. Settings that every cell of a task and arm shares follow from these two, whether a grid names
them, a preset or a file of tuned settings, and are no part of a label.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

IDENTITY = ("task", "arm", "method", "prior")
"""Parameters that say what a cell is; all others are settings."""

Parameters = Mapping[str, Any]
"""Of one cell: strings, numbers, booleans, and None where a method has no such setting."""


def task_of(parameters: Parameters) -> str:
    """The cell's task; empty in tables that name none."""
    return str(parameters.get("task") or "")


def arm_of(parameters: Parameters) -> str:
    """The cell's arm; in tables from before there were arms its noise process, and empty where there is neither."""
    return str(parameters.get("arm") or parameters.get("process") or "")


def shown_settings(cells: Mapping[str, Parameters]) -> list[str]:
    """Settings that tell cells of one task and arm apart, in the order of the parameters."""
    names = dict.fromkeys(name for parameters in cells.values() for name in parameters if name not in IDENTITY)
    values: dict[tuple[str, str, str], set[Any]] = defaultdict(set)
    for parameters in cells.values():
        for name in names:
            values[task_of(parameters), arm_of(parameters), name].add(parameters.get(name))
    varied = {name for (_, _, name), distinct in values.items() if len(distinct) > 1}
    return [name for name in names if name in varied]


def cell_labels(cells: Mapping[str, Parameters], shown: Sequence[str]) -> dict[str, str]:
    """A label by cell id, the task left out; a cell without anything to say is called by its id."""
    plain = {cell: _label(parameters, shown) for cell, parameters in cells.items()}
    used = Counter((task_of(cells[cell]), text) for cell, text in plain.items())
    return {
        cell: cell if not text else text if used[task_of(cells[cell]), text] == 1 else f"{text} ({cell})"
        for cell, text in plain.items()
    }


def with_task(task: str, label: str) -> str:
    """`sr4-32, star, eta_kl=0.0003`, for places where the task does not stand beside it."""
    return f"{task}, {label}" if task else label


def setting_words(name: str, value: Any) -> str:
    """`eta_kl=0.0003`."""
    return f"{name}={value_words(value)}"


def value_words(value: Any) -> str:
    """A setting's value; nothing where there is none."""
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else value if isinstance(value, str) else str(value).lower()


def in_order(values: Iterable[Any]) -> list[Any]:
    """Distinct values: numbers by size, words by the alphabet; None is left out."""
    distinct = set(values) - {None}
    numeric = all(isinstance(value, int | float) for value in distinct)
    return sorted(distinct, key=lambda value: value if numeric else value_words(value))


def _label(parameters: Parameters, shown: Sequence[str]) -> str:
    arm = arm_of(parameters)
    settings = [setting_words(name, parameters[name]) for name in shown if parameters.get(name) is not None]
    return ", ".join([*([arm] if arm else []), *settings])
