"""Grid cells: one task solved with one complete set of settings."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from g2d2.priors.tuned import TunedSettings, tuned_settings
from g2d2.settings import BATCH_FIELDS, G2D2Settings, solver_settings
from operators import InputError
from pipelines.grid import Point
from pipelines.identity import cell_id, recipe_id
from pipelines.spec import SweepSpec

SCHEMA = pa.schema(
    [
        ("index", pa.int32()),
        ("cell", pa.string()),
        ("recipe", pa.string()),
        ("task", pa.string()),
        ("settings", pa.string()),
    ]
)


@dataclass(frozen=True)
class Cell:
    """Settings as plain values, complete, under the ids that follow from them."""

    index: int
    id: str
    recipe: str
    task: str
    settings: dict[str, Any]

    def batch_key(self) -> tuple[Any, ...]:
        """What must agree within a batch."""
        return tuple(self.settings[name] for name in BATCH_FIELDS)


def expand_cells(spec: SweepSpec, tasks: Iterable[str], prior_folder: Path, prior_digest: str) -> list[Cell]:
    """Every task times every grid point; a point that repeats another is an error, not a duplicate."""
    tuned = _tuned(spec, prior_folder)
    cells: list[Cell] = []
    seen: dict[str, Point] = {}
    points = list(spec.grid)
    if not points:
        raise InputError("grid: every combination is excluded; at least one must be left.")
    for task in tasks:
        for point in points:
            settings = _settings(spec, tuned, task, point).model_dump()
            how = spec.resources
            recipe = recipe_id(spec.solver.method, prior_digest, how.dtype, settings, how.variants)
            cell = Cell(len(cells), cell_id(task, spec.solver.method, settings), recipe, task, settings)
            if cell.id in seen:
                raise InputError(f"grid: {point} and {seen[cell.id]} are the same settings; name each once.")
            seen[cell.id] = point
            cells.append(cell)
    return cells


def _tuned(spec: SweepSpec, prior_folder: Path) -> TunedSettings | None:
    if spec.solver.preset != "tuned":
        return None
    tuned = tuned_settings(prior_folder)
    if tuned is None:
        raise InputError(
            f"solver.preset: 'tuned' needs settings that ship with the prior, and {spec.prior!r} has none."
        )
    return tuned


def _settings(spec: SweepSpec, tuned: TunedSettings | None, task: str, point: Point) -> G2D2Settings:
    changes = spec.solver.settings | point
    if tuned is None:
        return solver_settings(spec.solver.preset, spec.solver.experiment, **changes)
    process = changes.pop("process", None)
    return tuned.settings(task, process, **changes)  # type: ignore[arg-type]  # validated with the rest


def to_table(cells: Iterable[Cell]) -> pa.Table:
    """Cells as rows."""
    rows = [
        {"index": c.index, "cell": c.id, "recipe": c.recipe, "task": c.task, "settings": json.dumps(c.settings)}
        for c in cells
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def from_table(table: pa.Table) -> list[Cell]:
    """Cells as written by `to_table`; a ValueError where they are not."""
    if not table.schema.equals(SCHEMA):
        raise ValueError("its columns are not those of cells")
    return [
        Cell(row["index"], row["cell"], row["recipe"], row["task"], json.loads(row["settings"]))
        for row in table.to_pylist()
    ]


def varied(cells: Iterable[Cell]) -> list[str]:
    """Settings that differ between cells, in the order of the settings model."""
    values: dict[str, set[str]] = {}
    for cell in cells:
        for name, value in cell.settings.items():
            values.setdefault(name, set()).add(repr(value))
    return [name for name in G2D2Settings.model_fields if len(values.get(name, ())) > 1]
