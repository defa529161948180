"""Grid cells: one task restored by one arm with one complete set of settings."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eval.cell_labels import shown_settings
from eval.score_columns import refuse_reserved
from g2d2.methods import find_method
from g2d2.priors.locating import LocatedPrior
from operators import InputError
from pipelines.plan.arms import SHIPPED, Arm, arm_label
from pipelines.plan.grid import Point
from pipelines.plan.item_ids import cell_id, recipe_id
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.schemas import CELLS

if TYPE_CHECKING:
    from g2d2.methods import Method, MethodSettings
    from g2d2.methods.tuned import Tuned


@dataclass(frozen=True)
class Cell:
    """Settings as plain values, complete, under the ids that follow from them."""

    index: int
    id: str
    recipe: str
    task: str
    arm: str
    method: str
    prior: str
    """As the specification names it; empty where the method takes none."""
    settings: dict[str, Any]

    def batch_key(self) -> tuple[Any, ...]:
        """What must agree within a batch; the prior first, so that work sorted by it changes priors seldom."""
        shared = find_method(self.method).Settings.shared_fields()
        return self.prior, self.method, *(self.settings[name] for name in shared)


@dataclass(frozen=True)
class PlannedPrior:
    """A prior as it was when the work was planned."""

    located: LocatedPrior
    digest: str


def expand_cells(spec: SweepSpec, tasks: Iterable[str], priors: Mapping[str, PlannedPrior]) -> list[Cell]:
    """Every task times every arm times every point of its grid; a cell that repeats another is an error."""
    cells: list[Cell] = []
    named: dict[str, str] = {}
    arms, split = spec.all_arms(), spec.split_by()
    if any(arm.grid.search for arm in arms.values()):
        raise InputError("grid.search: only `g2d2 sweep` proposes cells; give those that are to run here in `cross`.")
    points = {name: list(arm.grid) for name, arm in arms.items()}
    empty = next((name for name, combinations in points.items() if not combinations), None)
    if empty is not None:
        raise InputError(
            f"grid{f' of arm {empty!r}' if spec.arms else ''}: every combination is excluded; leave at least one."
        )
    for task in tasks:
        for name, arm in arms.items():
            method, prior = arm.load_method(), priors.get(arm.prior or "")
            refuse_reserved(method.Settings.model_fields, f"method {arm.method}")
            tuned = _tuned(arm, method, prior)
            for point in points[name]:
                settings = _settings(arm, method, tuned, task, point).model_dump()
                cell = Cell(
                    index=len(cells),
                    id=cell_id(task, arm.method, arm.prior, settings),
                    recipe=_recipe(spec, arm, method, prior, settings),
                    task=task,
                    arm=name if split is None else arm_label(settings[split]),
                    method=arm.method,
                    prior=arm.prior or "",
                    settings=settings,
                )
                label = f"{name} {point}" if spec.arms else str(point)
                if cell.id in named:
                    raise InputError(f"grid: {label} and {named[cell.id]} are the same settings; name each once.")
                named[cell.id] = label
                cells.append(cell)
    return cells


def _recipe(
    spec: SweepSpec, arm: Arm, method: "Method[Any, Any]", prior: PlannedPrior | None, settings: dict[str, Any]
) -> str:
    """Precision and form of the networks count where there are networks."""
    if prior is None:
        return recipe_id(arm.method, method.version, "", "", settings)
    how = spec.resources
    return recipe_id(arm.method, method.version, prior.digest, how.dtype, settings, how.variants)


def _tuned(arm: Arm, method: "Method[Any, Any]", prior: PlannedPrior | None) -> "Tuned | None":
    from g2d2.methods.tuned import tuned_settings  # torch, which cells that are only read do without

    if arm.preset not in SHIPPED:
        return None
    tuned = None if prior is None else tuned_settings(prior.located.folder, method, arm.preset)
    if tuned is None:
        raise InputError(
            f"preset: {arm.preset!r} needs settings of method {arm.method!r} that ship with the prior, and "
            f"{arm.prior!r} has none."
        )
    return tuned


def _settings(arm: Arm, method: "Method[Any, Any]", tuned: "Tuned | None", task: str, point: Point) -> "MethodSettings":
    changes = arm.settings | point
    if tuned is not None:
        return tuned.settings(method, task, changes)
    settings: MethodSettings = method.settings(arm.preset, arm.experiment, **changes)
    return settings


def to_table(cells: Iterable[Cell]) -> pa.Table:
    """Cells as rows."""
    rows = [
        {"index": c.index, "cell": c.id, "recipe": c.recipe, "task": c.task, "arm": c.arm, "method": c.method,
         "prior": c.prior, "settings": json.dumps(c.settings)}
        for c in cells
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=CELLS)


def from_table(table: pa.Table) -> list[Cell]:
    """Cells as written by `to_table`; a ValueError where they are not."""
    if not table.schema.equals(CELLS):
        raise ValueError("its columns are not those of cells")
    return [
        Cell(
            row["index"], row["cell"], row["recipe"], row["task"], row["arm"], row["method"], row["prior"],
            json.loads(row["settings"]),
        )
        for row in table.to_pylist()
    ]  # fmt: skip


def varied(cells: Iterable[Cell]) -> list[str]:
    """Settings that tell cells of one task and arm apart: what a preset gives each arm or task is not varied."""
    return shown_settings(
        {
            str(place): {name: repr(value) for name, value in cell.settings.items()}
            | {"task": cell.task, "arm": cell.arm}
            for place, cell in enumerate(cells)
        }
    )
