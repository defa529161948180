"""Ways to tamper with one file of a folder: remove it, damage it, swap it, change what it holds."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from tests.fuzz.mutations import spoiled, spoiled_bytes


def files(folder):
    """Names of all files below a folder, in order."""
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file())


@st.composite
def tamperings(draw, folder, leave=()):
    """A file, a way, and what the way needs; files whose names end as in `leave` are left alone."""
    name = draw(st.sampled_from([name for name in files(folder) if not name.endswith(tuple(leave))]))
    content = Path(folder, name).read_bytes()
    way = draw(st.sampled_from(["delete", "bytes", "bytes", "swap", "inside", "inside", "inside", "folder"]))
    if way == "swap":
        return name, way, draw(st.sampled_from(files(folder)))
    if way == "inside" and name.endswith(".json"):
        return name, "bytes", json.dumps(draw(spoiled(json.loads(content))), default=str, skipkeys=True).encode()
    if way == "inside" and name.endswith(".parquet"):
        column = draw(st.sampled_from(pq.read_schema(Path(folder, name)).names))
        return name, way, (column, draw(st.sampled_from(["drop", "nulls", "fewer", "double", "reverse", "none"])))
    if way in ("bytes", "inside"):
        return name, "bytes", draw(spoiled_bytes(content))
    return name, way, None


def tampered(whole, copy, tampering):
    """A fresh copy of the folder `whole` at `copy`, tampered with."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(whole, copy)
    name, way, what = tampering
    path = Path(copy, name)
    if way == "swap":
        other = Path(copy, what)
        first, second = path.read_bytes(), other.read_bytes()
        path.write_bytes(second)
        other.write_bytes(first)
    elif way == "bytes":
        path.write_bytes(what)
    elif way == "inside":
        pq.write_table(_changed(pq.read_table(path), *what), path)
    else:
        path.unlink()
        if way == "folder":
            path.mkdir()


def _changed(table, column, way):
    rows = [*range(len(table))]
    if way == "drop":
        return table.drop_columns([column])
    if way == "nulls":
        nothing = pa.nulls(len(table), table[column].type)
        return table.set_column(table.column_names.index(column), column, nothing)
    kept = {"fewer": rows[1:], "double": [*rows[:1], *rows], "reverse": rows[::-1], "none": []}[way]
    return table.take(pa.array(kept, pa.int64()))
