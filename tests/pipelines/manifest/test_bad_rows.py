"""One bad row costs no other: in a source, in a folder of pictures, in a stored manifest."""

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from pipelines.manifest.manifest_record import Summary
from pipelines.manifest.schema import SCHEMA, row_digest
from tests.pipelines.manifest.conftest import png

IDENTITY = ["--operator", "identity"]


def sources(url):
    """Ids of a manifest's pictures, and why others are not in it."""
    summary = json.loads((url / "manifest.json").read_text())
    rows = pq.read_table(url / "part-00000.parquet", columns=["source"])["source"].to_pylist()
    return rows, [one["reason"] for one in summary["rejected"]]


def test_text_that_is_not_utf8_costs_its_row(make_table, g2d2, tmp_path):
    def strings(*values):
        return pa.array(values, pa.binary()).view(pa.string())

    source = make_table(
        4,
        id=strings(b"a", b"b", b"\xff\xfe", b"d"),
        caption=strings(b"one", b"caf\xe9", b"three", b"four"),
        images=[{"bytes": png(number), "path": f"{number}.png"} for number in range(4)],
    )
    code, said, errors = g2d2("build", source, tmp_path / "m", *IDENTITY)
    assert code == 1
    assert "holds 2 measurements of 4 pictures" in said
    rows, reasons = sources(tmp_path / "m")
    assert rows == ["a", "d"]
    assert reasons == [
        "image b: its column 'caption' cannot be read as text in UTF-8.",
        "image row 2: its column 'id' cannot be read as text in UTF-8.",
    ]
    assert all(reason in errors for reason in reasons)


def test_a_bad_line_of_a_csv_costs_no_other(g2d2, tmp_path):
    for number in range(6):
        (tmp_path / f"{number}.png").write_bytes(png(number))
    lines = [
        b"image_path,caption",
        b"0.png,zero",
        b"1.png," + b"x" * 200_000,
        b"2.png,caf\xe9",
        b'3.png,"three"3',
        b"4.png,four",
        b'5.png,"never closed',
    ]
    (tmp_path / "set.csv").write_bytes(b"\n".join(lines))
    code, said, _ = g2d2("build", tmp_path / "set.csv", tmp_path / "m", *IDENTITY)
    assert code == 1
    assert "holds 2 measurements of 6 pictures" in said
    rows, reasons = sources(tmp_path / "m")
    assert rows == ["0", "4"]
    assert reasons[0] == "image 1.png: in its row 2, a field has 200000 characters and may have 131072."
    assert reasons[1].startswith("image 2.png: in its row 3, 'caf")
    assert reasons[1].endswith("' is not UTF-8.")
    assert reasons[2].startswith("image row 4: in its row 4, a field is malformed near line 5")
    assert reasons[3].startswith("image row 6: in its row 6, a field is malformed near line 7")


def test_a_broken_picture_takes_no_other_ones_name(g2d2, tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "a.jpg").write_bytes(b"\xff\xd8\xff broken")
    (folder / "a.png").write_bytes(png(1))
    (folder / "b.bmp").write_bytes(png(2))
    (folder / "b.png").write_bytes(png(3))
    os.mkfifo(folder / "c.png")
    (folder / "d.png").mkdir()
    (folder / os.fsdecode(b"caf\xe9.png")).write_bytes(png(4))
    code, _, errors = g2d2("build", folder, tmp_path / "m", *IDENTITY)
    assert code == 1
    rows, reasons = sources(tmp_path / "m")
    assert rows == ["a", "b"]
    assert reasons[0].startswith("image a.jpg: it cannot be read as a picture")
    assert reasons[1] == "image b.png: its id 'b' belongs to an earlier picture."
    assert reasons[2] == f"image {folder}/c.png: it is a pipe or device and must be a file."
    assert reasons[3].startswith("image caf\N{REPLACEMENT CHARACTER}.png: it cannot be read; its name in the store is")
    assert len(reasons) == 4
    assert "Traceback" not in errors


def test_two_columns_of_one_name_are_refused(g2d2, tmp_path):
    table = pa.Table.from_arrays(
        [pa.array([png(1)]), pa.array([png(2)]), pa.array(["x"]), pa.array(["y"])], ["image", "image", "other", "other"]
    )
    pq.write_table(table, tmp_path / "two.parquet")
    code, _, errors = g2d2("build", tmp_path / "two.parquet", tmp_path / "m", *IDENTITY)
    assert code == 2
    assert "source: 2 of its columns are called 'image'; rename all but one." in errors
    pq.write_table(table.rename_columns(["image", "more", "other", "other"]), tmp_path / "one.parquet")
    assert g2d2("build", tmp_path / "one.parquet", tmp_path / "m", *IDENTITY)[0] == 0
    (tmp_path / "1.png").write_bytes(png(1))
    (tmp_path / "two.csv").write_text("image_path,caption,caption\n1.png,a,b\n")
    code, _, errors = g2d2("build", tmp_path / "two.csv", tmp_path / "n", *IDENTITY)
    assert code == 2
    assert "2 of its columns are called 'caption'" in errors


ABSURD = {
    "nested": {"operator_params": '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"},
    "deep": {"operator_params": '{"a":' + "[" * 800 + "]" * 800 + "}"},
    "not-json": {"operator_params": "{" * 300},
    "list": {"operator_params": "[1, 2]"},
    "huge": {"x_shape": [3, 2**31 - 1, 2**31 - 1]},
    "wide": {"x_shape": [3, 1, 2**31 - 1]},
    "flat": {"x_shape": [8, 8]},
    "holes": {"x_shape": [3, None, 8]},
    "negative": {"x_shape": [3, -8, 8]},
    "y-holes": {"y_shape": [3, None, 8]},
    "operator": {"operator": "no_such_operator"},
    "truth": {"truth": b"broken"},
}


@pytest.fixture
def damaged(make_table, g2d2, tmp_path):
    """A manifest whose rows 1 to 12 are each wrong in their own way, with digests that fit; 0 and 13 are good."""
    count = len(ABSURD) + 2
    assert (
        g2d2("build", make_table(count), tmp_path / "m", "--operator", "gaussian_blur", "--set", "kernel_size=5")[0]
        == 0
    )
    (shard,) = (tmp_path / "m").glob("*.parquet")
    rows = pq.read_table(shard).to_pylist()
    for row, changes in zip(rows[1:], ABSURD.values(), strict=False):
        row |= changes
        try:
            row["digest"] = row_digest({**row, "y": np.array(row["y"], np.float32)})
        except TypeError:  # no digest fits a shape with holes
            continue
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), shard)
    return tmp_path / "m", rows


def test_check_names_every_absurd_row_and_goes_on(damaged, g2d2):
    folder, rows = damaged
    code, said, _ = g2d2("check", folder)
    assert code == 1
    bad = {line.partition(": ")[0] for line in said.splitlines()} - {"manifest.json"}
    assert bad == {row["id"] for row in rows[1:-1]}
    for part in ("it is nested too deeply", "no side may be above 16384", "every side must be a number"):
        assert part in said
    assert max(map(len, said.splitlines())) < 400


def test_a_sheet_shows_the_good_rows(damaged, g2d2, tmp_path):
    folder, rows = damaged
    code, said, errors = g2d2("show", folder, "--rows", len(rows), "--sheet", tmp_path / "sheet.png")
    assert code == 1
    assert len(said.splitlines()) > len(rows)
    unseen = [line for line in errors.splitlines() if line.startswith("not shown: ")]
    assert len(unseen) >= len(ABSURD)
    assert not any(f"{row['id']}:" in line for line in unseen for row in (rows[0], rows[-1]))
    assert len(Image.open(tmp_path / "sheet.png").getcolors(10**6)) > 100


def test_an_empty_manifest_has_no_sheet(g2d2, tmp_path):
    summary = Summary(rows=0, tasks=[], digest="0" * 32, shards=[], rejected=[], built={})
    (tmp_path / "manifest.json").write_text(summary.model_dump_json())
    assert g2d2("show", tmp_path)[0] == 0
    code, _, errors = g2d2("show", tmp_path, "--sheet", tmp_path / "sheet.png")
    assert code == 2
    assert f"sheet: manifest {tmp_path} has no rows to show." in errors
    assert not (tmp_path / "sheet.png").exists()


def test_text_of_a_manifest_that_is_not_utf8_is_named(make_table, g2d2, tmp_path):
    assert g2d2("build", make_table(3), tmp_path / "m", *IDENTITY)[0] == 0
    (shard,) = (tmp_path / "m").glob("*.parquet")
    table = pq.read_table(shard)
    broken = pa.array([b"x", b"\xff", b"y"], pa.binary()).view(pa.string())
    pq.write_table(table.set_column(table.column_names.index("prompt"), SCHEMA.field("prompt"), broken), shard)
    for action in ("check", "show"):
        code, said, errors = g2d2(action, tmp_path / "m")
        assert code == (1 if action == "check" else 2)
        assert "its shard part-00000.parquet cannot be read" in said + errors
        assert "UTF8" in said + errors
