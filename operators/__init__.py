"""What was measured: forward models, their adjoints and noise, by name.

The names below load on first use: most commands need no torch.
"""

from typing import TYPE_CHECKING

from operators.errors import InputError
from operators.on_first_use import on_first_use

if TYPE_CHECKING:
    from operators.base import Operator, OperatorSettings
    from operators.measurement import check_measurement, measure
    from operators.registry import (
        build_operator,
        operator_names,
        operator_settings,
        register_operator,
        stack_operators,
    )
    from operators.svd import Svd
    from operators.tasks import TASKS, Task
    from operators.validation import validate

__all__ = [
    "TASKS",
    "InputError",
    "Operator",
    "OperatorSettings",
    "Svd",
    "Task",
    "build_operator",
    "check_measurement",
    "measure",
    "operator_names",
    "operator_settings",
    "register_operator",
    "stack_operators",
    "validate",
]

__getattr__ = on_first_use(
    __name__,
    {
        "TASKS": "tasks",
        "Operator": "base",
        "OperatorSettings": "base",
        "Svd": "svd",
        "Task": "tasks",
        "build_operator": "registry",
        "check_measurement": "measurement",
        "measure": "measurement",
        "operator_names": "registry",
        "operator_settings": "registry",
        "register_operator": "registry",
        "stack_operators": "registry",
        "validate": "validation",
    },
)
