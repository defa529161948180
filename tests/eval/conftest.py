"""Scored tables made of plain numbers."""

import numpy as np
import pyarrow as pa
import pytest

from eval.scores import ScoreTable, score_schema


def build(cells, seeds=1, digest="d", parameters=None):
    """`cells` maps a cell to its metrics, each an array with one value per measurement and seed, seeds fastest."""
    parameters = parameters or {}
    names = list(next(iter(cells.values())))
    rows = []
    for cell, metrics in cells.items():
        columns = {name: np.asarray(values, dtype=float) for name, values in metrics.items()}
        for i in range(len(columns[names[0]])):
            measurement = f"m{i // seeds:04d}"
            row = {"item": f"{cell}-{i}", "measurement": measurement, "measurement_digest": f"{digest}-{measurement}"}
            row |= {"cell": cell, "seed": i % seeds, "error": None, **parameters.get(cell, {})}
            rows.append(row | {name: float(values[i]) for name, values in columns.items()})
    kinds = {
        name: pa.infer_type([p[name] for p in parameters.values()]) for name in next(iter(parameters.values()), {})
    }
    return pa.Table.from_pylist(rows, schema=score_schema(names, kinds))


@pytest.fixture
def arrow_scores():
    """Builds the Arrow table."""
    return build


@pytest.fixture
def scores():
    """Builds the checked table."""
    return lambda *args, **kwargs: ScoreTable(build(*args, **kwargs))
