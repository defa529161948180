"""The scored table: what it accepts, what it calls its cells, what it hands out."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eval.scores import METADATA_KEY, ScoreTable, score_schema
from operators import InputError

GRID = {
    "c1": {"task": "sr4-32", "process": "star", "eta_kl": 0.0003, "gamma": 0.1, "steps": 50, "fast": False},
    "c0": {"task": "sr4-32", "process": "star", "eta_kl": 0.0001, "gamma": 0.1, "steps": 50, "fast": False},
    "c2": {"task": "sr4-32", "process": "markov", "eta_kl": 0.0003, "gamma": 0.1, "steps": 50, "fast": True},
}


@pytest.fixture
def grid(arrow_scores):
    return arrow_scores({cell: {"psnr": [20.0, 21.0, 22.0, 23.0]} for cell in GRID}, seeds=2, parameters=GRID)


def change(table, column, row, value):
    values = table[column].to_pylist()
    values[row] = value
    return table.set_column(table.column_names.index(column), table.schema.field(column), pa.array(values))


def test_cells_are_ordered_and_labelled_by_arm_and_what_varies_in_it(grid):
    table = ScoreTable(grid)
    assert table.cells() == ["c2", "c0", "c1"]
    assert table.cell_label("c1") == "sr4-32, star, eta_kl=0.0003"  # fast follows from the arm
    assert table.cell_label("c2") == "sr4-32, markov, eta_kl=0.0003"
    assert table.cell_parameters("c1") == GRID["c1"]


def test_a_lone_cell_is_told_by_its_words_and_a_bare_one_by_its_id(grid, scores):
    lone = ScoreTable(grid.filter(pa.compute.equal(grid["cell"], "c1")))
    assert lone.cell_label("c1") == "sr4-32, star"
    assert scores({"only": {"psnr": [1.0]}}).cell_label("only") == "only"


def test_labels_never_coincide(scores):
    parameters = {"a": {"process": "star"}, "b": {"process": "star"}, "c": {"process": "markov"}}
    table = scores({cell: {"psnr": [1.0]} for cell in "abc"}, parameters=parameters)
    assert [table.cell_label(cell) for cell in "abc"] == ["star (a)", "star (b)", "markov"]


def test_a_parameter_that_changes_inside_a_cell_belongs_to_the_measurement(grid):
    table = ScoreTable(change(grid, "task", 0, "deblur-32"))
    assert "task" not in table.cell_parameters("c1")
    assert table.cell_label("c1") == "star"  # in no task, it is the only one of its arm


def test_a_parameter_that_does_not_apply_may_be_empty_or_nan(scores):
    parameters = {"a": {"x": 1.0}, "b": {"x": float("nan")}, "c": {"x": None}}
    table = scores({cell: {"psnr": [1.0]} for cell in "abc"}, parameters=parameters)
    assert table.cells() == ["b", "c", "a"]
    assert table.cell_parameters("b") == table.cell_parameters("c") == {"x": None}


def test_values_are_aligned_with_their_keys_whatever_the_order_of_rows(grid):
    shuffled = grid.take(np.random.default_rng(0).permutation(len(grid)))
    found = ScoreTable(shuffled).values("c0", "psnr")
    assert found.measurements.tolist() == ["m0000", "m0000", "m0001", "m0001"]
    assert found.seeds.tolist() == [0, 1, 0, 1]
    assert found.values.tolist() == [20.0, 21.0, 22.0, 23.0]
    assert found.digests.tolist() == ["d-m0000", "d-m0000", "d-m0001", "d-m0001"]


def test_failed_and_non_finite_values_are_told_apart(grid):
    table = change(change(grid, "error", 0, "RuntimeError: boom"), "psnr", 1, float("inf"))
    table = change(table, "psnr", 2, None)
    found = ScoreTable(table).values("c1", "psnr")
    assert (found.failed_count, found.non_finite_count) == (1, 2)
    assert np.isnan(found.values[0])  # a number beside an error is not a result
    assert found.finite.tolist() == [False, False, False, True]


def test_parquet_keeps_the_roles_of_columns(grid, tmp_path):
    renamed = score_schema(["sharpness"], {"psnr": pa.float64()})
    row = {"item": "i", "measurement": "m", "cell": "c", "seed": 0, "psnr": 1.0, "sharpness": 2.0}
    pq.write_table(pa.Table.from_pylist([row], schema=renamed), tmp_path / "own.parquet")
    table = ScoreTable.read(tmp_path / "own.parquet")
    assert (table.metrics, table.parameters) == (("sharpness",), ("psnr",))


def test_a_folder_of_files_is_one_table(grid, tmp_path):
    for i in range(3):
        pq.write_table(grid.slice(4 * i, 4), tmp_path / f"part-{i}.parquet")
    table = ScoreTable.read(tmp_path)
    assert table.cells() == ["c2", "c0", "c1"]
    assert table.parameters == tuple(GRID["c1"])


def test_without_metadata_known_names_are_metrics_and_other_scalars_parameters(grid):
    bare = grid.replace_schema_metadata(None).append_column("picture", pa.array([b"x"] * len(grid)))
    table = ScoreTable(bare)
    assert table.metrics == ("psnr",)
    assert table.parameters == tuple(GRID["c1"])


def test_other_column_types_are_converted(grid):
    table = grid.set_column(0, "item", grid["item"].dictionary_encode())
    position = table.column_names.index("process")
    table = table.set_column(position, "process", table["process"].dictionary_encode())
    position = table.column_names.index("psnr")
    table = table.set_column(position, "psnr", table["psnr"].cast(pa.float32()))
    found = ScoreTable(table)
    assert found.cell_label("c2") == "sr4-32, markov, eta_kl=0.0003"
    assert found.values("c2", "psnr").values.dtype == np.float64


def test_bad_tables_are_refused_in_one_sentence(grid, tmp_path):
    metadata = {METADATA_KEY: b'{"version": 99, "metrics": [], "parameters": []}'}
    cases = {
        "'seed' is missing": grid.drop_columns(["seed"]),
        "'cell' has 1 empty": change(grid, "cell", 0, None),
        "no rows": grid.slice(0, 0),
        "with seed 0 more than once": pa.concat_tables([grid, grid.slice(0, 1)]),
        "version is 99": grid.replace_schema_metadata(metadata),
        "is damaged": grid.replace_schema_metadata({METADATA_KEY: b"{"}),
        "'psnr' is missing although": grid.drop_columns(["psnr"]),
        "'seed' is string: it must be int64": grid.set_column(4, "seed", pa.array(["a"] * len(grid))),
    }
    for words, table in cases.items():
        with pytest.raises(InputError, match=words) as error:
            ScoreTable(table)
        assert "\n" not in str(error.value)
    (tmp_path / "text.parquet").write_text("not parquet")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        ScoreTable.read(tmp_path / "text.parquet")
    with pytest.raises(InputError, match="no such file"):
        ScoreTable.read(tmp_path / "none.parquet")


def test_unknown_cells_metrics_and_doubled_names_are_refused(grid):
    table = ScoreTable(grid)
    with pytest.raises(InputError, match="no 'c9'; it has"):
        table.values("c9", "psnr")
    with pytest.raises(InputError, match="no 'ssim'; it has psnr"):
        table.values("c1", "ssim")
    with pytest.raises(InputError, match="psnr is named twice"):
        score_schema(["psnr"], {"psnr": pa.float64()})
