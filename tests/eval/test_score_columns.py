"""The columns of scored tables: facts of metrics in the metadata, and tables of several methods as one."""

import json
from functools import reduce

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eval.score_columns import METADATA_KEY, arrow_type, filled, united
from eval.scores import PROVENANCE, ScoreTable, score_schema, scoring_version, with_metrics
from operators import InputError

CELL = {"task": pa.string(), "arm": pa.string(), "method": pa.string(), "prior": pa.string()}
SETTINGS = {
    "g2d2": {"eta_kl": 0.001, "steps": 4, "final": "sample"},
    "dps": {"steps": 2.5, "final": True, "zeta": None},
    "wiener": {},
}


def table(method, metrics=("psnr", "seconds"), scoring=3, **changes):
    settings = SETTINGS[method] | changes
    kinds = CELL | {name: arrow_type([value]) for name, value in settings.items()}
    schema = score_schema(metrics, kinds, PROVENANCE, scoring, free=[n for n in settings if n in ("eta_kl", "zeta")])
    rows = [
        {"item": f"{method}{n}", "measurement": f"m{n}", "cell": method, "seed": 0, "task": "t", "arm": method,
         "method": method, "prior": "p", **settings, "psnr": 20.0 + n, "seconds": 1.0}
        for n in range(2)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=schema)


def joined(*tables):
    schema = reduce(united, (one.schema for one in tables))
    return pa.concat_tables(filled(one, schema) for one in tables)


def test_tables_of_several_methods_are_one():
    whole = joined(table("wiener"), table("g2d2"), table("dps"))
    kinds = {name: whole.schema.field(name).type for name in ("eta_kl", "steps", "final", "zeta")}
    assert kinds == {"eta_kl": pa.float64(), "steps": pa.float64(), "final": pa.string(), "zeta": pa.null()}
    scores = ScoreTable(whole)
    assert scores.parameters[:4] == ("task", "arm", "method", "prior")
    assert scores.free == ("eta_kl", "zeta")
    assert scores.cell_parameters("g2d2")["steps"] == 4
    assert scores.cell_parameters("wiener")["steps"] is None
    assert scores.cell_parameters("dps")["final"] == "true"
    assert scores.values("dps", "psnr").values.tolist() == [20.0, 21.0]
    assert scoring_version(scores.table) == 3


def test_the_order_of_tables_changes_no_value():
    one, other = joined(table("g2d2"), table("dps")), joined(table("dps"), table("g2d2"))
    assert (
        one.select(sorted(one.column_names))
        .sort_by("item")
        .equals(other.select(sorted(other.column_names)).sort_by("item"))
    )


@pytest.mark.parametrize(
    "damaged",
    [
        table("g2d2", metrics=("ssim", "seconds")),
        table("g2d2", scoring=2),
        table("g2d2").drop_columns(["device"]),
        table("g2d2").set_column(4, "seed", pa.array(["0", "0"])),
        table("g2d2").replace_schema_metadata(None),
        table("g2d2").replace_schema_metadata({METADATA_KEY: b"{"}),
    ],
)
def test_what_is_not_of_the_same_scoring_is_refused(damaged):
    with pytest.raises(ValueError, match=r"columns are not those of other shards|is damaged"):
        united(table("wiener").schema, damaged.schema)


def test_a_folder_of_several_methods_is_read(tmp_path):
    for method in SETTINGS:
        pq.write_table(table(method), tmp_path / f"{method}.parquet")
    scores = ScoreTable.read(tmp_path)
    assert set(scores.cells()) == set(SETTINGS)
    assert scores.cell_parameters("g2d2")["eta_kl"] == 0.001


def test_the_metadata_describes_the_metrics():
    facts = json.loads(table("g2d2").schema.metadata[METADATA_KEY])
    assert facts == {
        "version": 2,
        "metrics": [
            {"name": "psnr", "direction": "higher", "unit": "dB", "digits": 2, "tolerance": 0.1,
             "summary": "peak signal-to-noise ratio on [0, 1] with peak 1"},
            {"name": "seconds", "direction": "lower", "unit": "s", "digits": 2, "tolerance": None,
             "summary": "time of one reconstruction"},
        ],
        "parameters": [*CELL, "eta_kl", "steps", "final"],
        "free": ["eta_kl"],
        "scoring": 3,
    }  # fmt: skip


def test_tables_of_version_1_are_read():
    before = {"version": 1, "metrics": ["psnr", "sharpness", "seconds"], "parameters": ["task", "eta_kl", "steps"]}
    old = table("g2d2").append_column("sharpness", pa.array([1.0, 2.0]))
    scores = ScoreTable(old.replace_schema_metadata({METADATA_KEY: json.dumps(before).encode()}))
    assert scores.metrics == ("psnr", "sharpness", "seconds")
    assert scores.info("psnr").unit == "dB"
    assert scores.info("sharpness").direction == "none"
    assert "eta_kl" in scores.free
    assert "steps" not in scores.free
    assert scores.judged == ("psnr",)
    assert scoring_version(scores.table) == 1
    assert scores.only(["psnr"]).info("psnr").direction == "higher"


def test_more_metrics_stand_before_the_costs():
    more = with_metrics(table("g2d2"), {"ssim": pa.chunked_array([pa.array([0.5, 0.6])])})
    scores = ScoreTable(more)
    assert scores.metrics == ("psnr", "ssim", "seconds")
    assert scores.info("ssim").tolerance == 0.005
    assert scores.free == ("eta_kl",)


def test_damaged_facts_are_one_sentence():
    facts = json.loads(table("g2d2").schema.metadata[METADATA_KEY])
    facts["metrics"][0]["direction"] = "up"
    with pytest.raises(InputError, match="the metadata 'g2d2' is damaged"):
        ScoreTable(table("g2d2").replace_schema_metadata({METADATA_KEY: json.dumps(facts).encode()}))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], pa.int64()),
        ([1, 2.5], pa.float64()),
        ([True, False], pa.bool_()),
        ([True, 1], pa.string()),
        (["a", None], pa.string()),
        ([None], pa.null()),
        ([[1, 2]], pa.string()),
    ],
)
def test_a_settings_column_has_the_type_of_its_values(values, kind):
    assert arrow_type(values) == kind
