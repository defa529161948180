"""Every Parquet schema of the road, from measurements to distances.

What a scorer writes of every row has columns by method and metric: `eval.score_columns` makes that schema.
"""

from collections.abc import Iterable

import pyarrow as pa

from eval.scores import PROVENANCE, ROW_COSTS

MANIFEST_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("task", pa.string(), nullable=False),
        pa.field("signal", pa.string(), nullable=False),
        pa.field("truth", pa.binary()),
        pa.field("y", pa.list_(pa.float32()), nullable=False),
        pa.field("y_shape", pa.list_(pa.int32()), nullable=False),
        pa.field("x_shape", pa.list_(pa.int32()), nullable=False),
        pa.field("operator", pa.string(), nullable=False),
        pa.field("operator_params", pa.string(), nullable=False),
        pa.field("sigma", pa.float64(), nullable=False),
        pa.field("prompt", pa.string(), nullable=False),
        pa.field("label", pa.string()),
        pa.field("seed", pa.int64(), nullable=False),
        pa.field("digest", pa.string(), nullable=False),
    ]
)
"""A measurement; `truth` is in its signal's stored form, and null where nobody knows it."""
CELLS = pa.schema(
    [
        ("index", pa.int32()),
        ("cell", pa.string()),
        ("recipe", pa.string()),
        ("task", pa.string()),
        ("arm", pa.string()),
        ("method", pa.string()),
        ("prior", pa.string()),
        ("settings", pa.string()),
    ]
)
ITEM_SCHEMA = pa.schema(
    [
        ("item", pa.string()),
        ("shard", pa.string()),
        ("measurement", pa.string()),
        ("measurement_digest", pa.string()),
        ("manifest_shard", pa.int32()),
        ("manifest_row", pa.int32()),
        ("cell", pa.string()),
        ("cell_index", pa.int32()),
        ("seed", pa.int64()),
        ("solver_seed", pa.int64()),
    ]
)
SOLVED_SCHEMA = pa.schema(
    [
        *(ITEM_SCHEMA.field(name) for name in ("item", "measurement", "measurement_digest")),
        *(ITEM_SCHEMA.field(name) for name in ("manifest_shard", "manifest_row", "cell", "seed")),
        *((name, pa.string()) for name in ("task", "arm", "method", "prior", "signal", "settings", "error")),
        ("x", pa.binary()),
        ("floats", pa.list_(pa.float32())),
        ("trace", pa.binary()),
        ("peak_bytes", pa.int64()),
        *ROW_COSTS.items(),
        *PROVENANCE.items(),
    ]
)
"""A solved row: the stored x, or why there is none. `floats` and `trace` are null unless asked for."""
LOAD_SCHEMA = pa.schema(
    [
        ("time", pa.float64()),
        ("host", pa.string()),
        ("cpu_percent", pa.float64()),
        ("memory_gib", pa.float64()),
        ("gpu_percent", pa.float64()),
        ("gpu_memory_gib", pa.float64()),
    ]
)
"""How busy a machine was when it had solved a shard; nulls where it has no GPU, or does not tell."""

MEASUREMENT_KEYS = ("digest", "measurement", "task")
"""Columns that say which measurement a row of `measurement_schema` is of."""
FEATURE_KEYS = {"cell": pa.string(), "item": pa.string(), "measurement": pa.string(), "seed": pa.int64()}
"""Columns of a features file that say what a row is of; `features` follows, as long as the network's are."""
DISTANCES = pa.schema(
    [
        ("cell", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),
        ("count_truth", pa.int64()),
        ("count_images", pa.int64()),
        ("expected", pa.int64()),
        ("note", pa.string()),
        ("unavailable", pa.string()),
        ("interval", pa.float64()),
        ("of_truth", pa.float64()),
    ]
)
"""One distance of one cell, over how many of its images, or why there is none."""


def measurement_schema(metrics: Iterable[str]) -> pa.Schema:
    """Scores of measurements and truths themselves, by these columns."""
    return pa.schema([*((name, pa.string()) for name in MEASUREMENT_KEYS), *((name, pa.float64()) for name in metrics)])
