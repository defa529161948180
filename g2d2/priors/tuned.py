"""Solver settings that were tuned for a prior and ship in its folder, per task and noise process."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from g2d2.priors.layout import read_json
from g2d2.settings import PRESETS, G2D2Settings, Process
from operators import InputError
from operators.validation import validate

FILE = "solver.json"


class TunedSettings(BaseModel):
    """The content of `solver.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    found_by: str
    """How the settings were chosen, in a sentence."""
    shared: dict[str, Any] = {}
    """Changes to the paper's preset for every task and process."""
    tasks: dict[str, dict[Process, dict[str, Any]]] = {}
    """Further changes per task and noise process."""

    def settings(self, task: str | None, process: Process | None = None, **changes: Any) -> G2D2Settings:
        """Shared settings, then the task's for this process, then `changes`."""
        process = process or PRESETS["paper"].process
        values = PRESETS["paper"].model_dump() | {"process": process} | self.shared
        values |= self.tasks.get(task or "", {}).get(process, {})
        return validate(G2D2Settings, values | changes, where="solver settings")


def tuned_settings(folder: Path) -> TunedSettings | None:
    """What ships with the prior in `folder`, checked; None where nothing does."""
    path = folder / FILE
    if not path.is_file():
        return None
    tuned = validate(TunedSettings, read_json(path), where=str(path))
    for task, processes in tuned.tasks.items():
        for process in processes:
            try:
                tuned.settings(task, process)
            except InputError as error:
                raise InputError(f"{path}: {task}, {process}: {error}") from None
    return tuned
