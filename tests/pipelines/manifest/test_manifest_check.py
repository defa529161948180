"""Checking: every kind of damage is found, and named with its row."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.manifest import SCHEMA, Manifest, check_manifest
from pipelines.manifest.schema import row_digest


@pytest.fixture
def folder(make_table, build, tmp_path):
    build(make_table(4), rows_per_shard=2)
    return tmp_path / "manifest"


def problems(folder):
    return list(check_manifest(Manifest.open(str(folder))))


def change(folder, row, values, sign=False):
    """Write part-00000 again with one row changed; signed, its digest fits again."""
    path = folder / "part-00000.parquet"
    rows = pq.read_table(path).to_pylist()
    rows[row] |= values
    if sign:
        rows[row]["digest"] = row_digest(rows[row])
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), path)


def test_a_manifest_as_built_has_no_problems(folder, g2d2):
    assert problems(folder) == []
    code, said, errors = g2d2("check", folder)
    assert (code, errors) == (0, "")
    assert "4 measurements, all whole; digest " in said


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"prompt": "another"}, "its digest does not fit its content"),
        ({"seed": 7}, "its digest does not fit its content"),
        ({"sigma": 0.06}, "its digest does not fit its content"),
        ({"y": [0.0] * 192}, "its digest does not fit its content"),
    ],
)
def test_changed_content_is_found(folder, values, problem):
    change(folder, 1, values)
    assert [line for line in problems(folder) if line.startswith(f"identity/img-1: {problem}")]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"truth": b"nothing"}, "identity/img-1: image identity/img-1: it cannot be read as a picture"),
        ({"y": [float("inf")] * 192}, "identity/img-1: identity: y has 192 NaN or infinite values"),
        ({"y": [1.0] * 3}, "identity/img-1: y has 3 values, which do not fill its y_shape [3, 8, 8]"),
        ({"y_shape": [3, 4, 16]}, "identity/img-1: identity: the measurement batch has shape (1, 3, 4, 16)"),
        ({"operator": "blur"}, "identity/img-1: operator is 'blur'"),
        ({"operator_params": '{"x":1}'}, "identity/img-1: identity: unknown setting 'x'"),
        ({"x_shape": [3, 0, 8]}, "identity/img-1: x_shape is (3, 0, 8)"),
        ({"sigma": -1.0}, "identity/img-1: its sigma is -1.0"),
        ({"id": "identity/a b"}, "identity/a b: as an id, it may only hold letters"),
        ({"id": "identity/img-2"}, "identity/img-2: another row has the same id"),
        ({"source": "img-9"}, "identity/img-1: its id must be its task and source, identity/img-9"),
        ({"task": "other"}, "manifest.json: its tasks are identity and the rows' identity, other"),
    ],
)
def test_what_readers_rely_on_is_checked_beyond_the_digest(folder, values, problem):
    change(folder, 1, values, sign=True)
    found = problems(folder)
    assert any(line.startswith(problem) for line in found), found
    assert all(len(line.splitlines()) == 1 for line in found)


def test_a_row_without_truth_is_fine_but_another_manifest(folder):
    change(folder, 1, {"truth": None}, sign=True)
    digest, truths = problems(folder)
    assert digest.startswith("manifest.json: its digest is ")
    assert truths == "manifest.json: it says 0 of identity without truth and the rows 1."


def test_shards_that_are_gone_cut_or_foreign_are_named(folder, g2d2):
    (folder / "part-00001.parquet").unlink()
    found = problems(folder)
    assert found[0].startswith("part-00001.parquet: ")
    assert "manifest.json: it says 4 rows and the shards have 2." in found
    pq.write_table(pq.read_table(folder / "part-00000.parquet").slice(1), folder / "part-00000.parquet")
    assert "part-00000.parquet: it has 1 row and manifest.json says 2." in problems(folder)
    pq.write_table(pa.table({"id": ["a"]}), folder / "part-00000.parquet")
    code, said, errors = g2d2("check", folder)
    assert code == 1
    assert "part-00000.parquet: " in said
    assert "its columns are not those of a manifest" in said
    assert "problems" in errors


def test_an_empty_value_where_none_may_be_is_found(folder):
    path = folder / "part-00000.parquet"
    loose = pa.schema([field.with_nullable(True) for field in SCHEMA])
    rows = pq.read_table(path).to_pylist()
    rows[0]["prompt"] = None
    pq.write_table(pa.Table.from_pylist(rows, schema=loose), path)
    assert any("columns are not those of a manifest" in line for line in problems(folder))


def test_a_wrong_digest_in_the_summary_is_found(folder, g2d2):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"digest": "0" * 32}))
    assert [line.partition(" and ")[0] for line in problems(folder)] == [f"manifest.json: its digest is {'0' * 32}"]
    path.unlink()
    assert g2d2("check", folder)[0] == 2
