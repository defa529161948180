"""Settings of methods that were tuned for a prior and ship in its folder, per task."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from g2d2.methods.base import Method
from g2d2.methods.settings import MethodSettings
from g2d2.priors.json_files import read_json
from operators import InputError
from operators.validation import validate

FILE = "tuned.json"
TUNED = "tuned"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Case(_Model):
    """Changes that hold where other settings have certain values."""

    when: dict[str, Any] = {}
    """Such as `{"process": "star"}`; empty: always."""
    settings: dict[str, Any]
    """The changes."""
    found_by: str | None = None
    """How these were chosen, where otherwise than the method's others."""


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
    others: dict[str, "Tuned"] = {}
    """Further presets by name, such as `fast`: each starts from the method's own, not from what stands here."""

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

    def with_case(self, method: Method[Any, Any], task: str, start: MethodSettings, case: Case) -> "Tuned":
        """The same, with changes of a task that hold wherever other settings are as in `start`.

        They come before cases with fewer conditions, and take the place of one with the same.
        """
        base = method.validated(method.settings(self.preset).model_dump() | self.shared)
        differs = differing(start, base, case.settings)
        others = [one for one in self.tasks.get(task, []) if one.when != differs]
        cases = sorted([case.model_copy(update={"when": differs}), *others], key=lambda one: -len(one.when))
        return self.model_copy(update={"tasks": self.tasks | {task: cases}})


def differing(start: MethodSettings, other: MethodSettings, aside: Iterable[str]) -> dict[str, Any]:
    """Settings of one that have other values than the other's, without those that are left aside."""
    values, left = other.model_dump(), set(aside)
    return {name: value for name, value in start.model_dump().items() if name not in left and value != values[name]}


def read_tuned(folder: Path) -> dict[str, Any]:
    """What ships with the prior in `folder` by method, as it stands there; empty where nothing does."""
    path = folder / FILE
    return read_json(path) if path.is_file() else {}


def tuned_settings(folder: Path | None, method: Method[Any, Any], preset: str = TUNED) -> Tuned | None:
    """A preset that ships for a method with the prior in `folder`, checked; None where it does not."""
    content = {} if folder is None else read_tuned(folder)
    if folder is None or method.name not in content:
        return None
    path = folder / FILE
    tuned: Tuned = validate(Tuned, content[method.name], where=f"{path}: {method.name}")
    for name, one in {TUNED: tuned, **tuned.others}.items():
        for task, case in ((task, case) for task, cases in one.tasks.items() for case in cases):
            try:
                one.settings(method, task, case.when)
            except InputError as error:
                raise InputError(f"{path}: {name}, {task}, {case.when}: {error}") from None
    return tuned if preset == TUNED else tuned.others.get(preset)
