"""What was measured: forward models, their adjoints and noise, by name.

The names below load on first use: most commands need no torch.
"""

from typing import TYPE_CHECKING

from operators.errors import InputError
from operators.on_first_use import on_first_use

if TYPE_CHECKING:
    from operators.base import Linear, Operator, OperatorSettings, Spectral
    from operators.measurement import check_measurement, measure
    from operators.registry import (
        build_operator,
        operator_names,
        operator_settings,
        stack_operators,
    )
    from operators.signals import Signal, find_signal
    from operators.svd import Svd
    from operators.tasks import TASKS, Task
    from operators.validation import validate

__all__ = [
    "TASKS",
    "InputError",
    "Linear",
    "Operator",
    "OperatorSettings",
    "Signal",
    "Spectral",
    "Svd",
    "Task",
    "build_operator",
    "check_measurement",
    "find_signal",
    "measure",
    "operator_names",
    "operator_settings",
    "stack_operators",
    "validate",
]

__getattr__ = on_first_use(
    __name__,
    {
        "TASKS": "tasks",
        "Linear": "base",
        "Operator": "base",
        "OperatorSettings": "base",
        "Signal": "signals",
        "Spectral": "base",
        "Svd": "svd",
        "Task": "tasks",
        "build_operator": "registry",
        "check_measurement": "measurement",
        "find_signal": "signals",
        "measure": "measurement",
        "operator_names": "registry",
        "operator_settings": "registry",
        "stack_operators": "registry",
        "validate": "validation",
    },
)
