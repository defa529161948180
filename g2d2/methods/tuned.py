"""Settings of methods that were tuned for a prior and ship in its folder, per task."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from g2d2.methods.base import Method
from g2d2.methods.settings import MethodSettings
from g2d2.priors.json_files import read_json
from operators import InputError
from operators.validation import validate

FILE = "tuned.json"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Case(_Model):
    """Changes that hold where other settings have certain values."""

    when: dict[str, Any] = {}
    """Such as `{"process": "star"}`; empty: always."""
    settings: dict[str, Any]
    """The changes."""


class Tuned(_Model):
    """What was found for one method."""

    found_by: str
    """How the settings were chosen, in a sentence."""
    preset: str | None = None
    """Where they start from; the method's first preset by default."""
    shared: dict[str, Any] = {}
    """Changes for every task."""
    tasks: dict[str, list[Case]] = {}
    """Further changes per task, the first case that applies."""

    def settings(self, method: Method[Any, Any], task: str | None, changes: Mapping[str, Any]) -> MethodSettings:
        """The preset, then what is shared, then the task's case for these changes, then the changes themselves."""
        values = method.settings(self.preset).model_dump() | self.shared
        asked = values | dict(changes)
        for case in self.tasks.get(task or "", []):
            if all(asked.get(name) == value for name, value in case.when.items()):
                values |= case.settings
                break
        settings: MethodSettings = method.validated(values | dict(changes))
        return settings


def tuned_settings(folder: Path | None, method: Method[Any, Any]) -> Tuned | None:
    """What ships for a method with the prior in `folder`, checked; None where nothing does."""
    path = None if folder is None else folder / FILE
    if path is None or not path.is_file():
        return None
    content = read_json(path)
    if method.name not in content:
        return None
    tuned: Tuned = validate(Tuned, content[method.name], where=f"{path}: {method.name}")
    for task, cases in tuned.tasks.items():
        for case in cases:
            try:
                tuned.settings(method, task, case.when)
            except InputError as error:
                raise InputError(f"{path}: {task}, {case.when}: {error}") from None
    return tuned
