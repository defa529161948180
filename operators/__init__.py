"""What was measured: forward models, their adjoints and noise, by name."""

from operators import gaussian_blur, identity, inpainting, motion_blur, super_resolution  # noqa: F401 (they register)
from operators.base import Operator, OperatorSettings
from operators.errors import InputError
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
