"""What a row costs in its method's units of work, on the prior that its cell has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from g2d2.methods import Method, MethodSettings
from g2d2.priors.base import PriorFacts
from g2d2.priors.locating import locate_prior
from pipelines.manifest import Manifest
from pipelines.manifest.reading import Place
from pipelines.plan.cells import Cell


def task_prompts(manifest: Manifest, places: Mapping[str, Place]) -> dict[str, str]:
    """By task, the prompt of the row that stands for it."""
    return {task: manifest.fetch([place])["prompt"][0].as_py() for task, place in places.items()}


@dataclass(frozen=True)
class RowWork:
    """Units of work of cells, whose guidance costs a second pass only where it changes something."""

    facts: Mapping[str, PriorFacts]
    """By name of the prior."""

    prompts: Mapping[str, str]
    """By task."""

    @classmethod
    def of(cls, cells: Sequence[Cell], prompts: Mapping[str, str]) -> Self:
        names = dict.fromkeys(cell.prior for cell in cells if cell.prior)
        return cls({name: locate_prior(name).facts() for name in names}, prompts)

    def units(self, method: Method[Any, Any], cell: Cell, settings: MethodSettings) -> tuple[float, ...]:
        """Of a row of the cell under these settings; a task whose prompt nobody knows is taken to have one."""
        facts, guidance = self.facts.get(cell.prior), getattr(settings, "guidance", None)
        if facts is not None and guidance is not None:
            scale = facts.scale(guidance, self.prompts.get(cell.task, "a prompt"))
            settings = settings.model_copy(update={"guidance": scale})
        return method.work(settings)
