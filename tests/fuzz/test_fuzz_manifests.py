"""Manifests with odd rows, other columns and damaged bytes; and tables of pictures that manifests are built from."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from hypothesis import strategies as st

from pipelines.manifest.schema import SCHEMA, manifest_digest, row_digest
from tests.fuzz.cases import amounts, each_case
from tests.fuzz.mutations import ODD_STRINGS, spoiled, spoiled_bytes, words
from tests.fuzz.odd_pictures import OPERATOR, picture
from tests.fuzz.oracle import g2d2
from tests.pipelines.sweep_cases import specification

QUICK = {"steps": 2, "iterations": 1, "guidance": 1}
SHAPES = [[], [0], [-1, 8, 8], [3, 8, 8], [1, 8, 8], [8, 8, 3], [3, 2**31 - 1, 2**31 - 1], [2**31 - 1] * 5, [3] * 100]
TEXT = "y" * 100_000
TEXTS = [text for text in ODD_STRINGS if text != "\ud800"]  # Arrow has no string for it
ODD = {
    "y": [[], [0.0], [float("nan")] * 192, [float("inf")] * 192, [3e38] * 192, [0.0] * 10_000],
    "y_shape": SHAPES,
    "x_shape": SHAPES,
    "signal": [*TEXTS, "image", "os:system", "nowhere.at:all", "operators.signals.base:Signal"],
    "operator": [*TEXTS, "identity", "super_resolution", "inpainting", "os:system", "nowhere.at:all"],
    "operator_params": [*TEXTS, "[]", "null", "NaN", "1", '{"kernel_size": {"a": 1}, "std": [[1]]}', "[" * 5000,
                        '{"kernel_size": 1000000001, "std": 1}', '{"kernel_size": 5, "std": 1e400}', '{"a": 1}',
                        '{"kernel_size": NaN, "std": NaN}', '{"kernel_size": 5, "std": ' + "9" * 5000 + "}"],
    "sigma": [-1.0, 0.0, 1e39, 1e308, float("nan"), float("inf")],
    "prompt": [*TEXTS, "word " * 1000],
    "seed": [-1, 2**63 - 1, -(2**63)],
    "truth": [None, b"", b"{}", picture(size=(9, 8)), picture("L")],
    "label": TEXTS, "id": TEXTS, "source": TEXTS, "task": TEXTS, "digest": TEXTS,
}  # fmt: skip


@st.composite
def odd_rows(draw):
    """Which columns get which odd value, and whether digests are made to fit them."""
    chosen = draw(st.lists(st.sampled_from(sorted(ODD)), min_size=1, max_size=2, unique=True))
    return {name: draw(st.sampled_from(ODD[name])) for name in chosen}, draw(st.booleans())


def put_row(manifest, changes, sealed):
    """Change the second row of a manifest; `sealed` as if it had been built so."""
    path, summary = Path(manifest, "manifest.json"), json.loads(Path(manifest, "manifest.json").read_text())
    shard = Path(manifest, summary["shards"][0]["name"])
    rows = pq.read_table(shard).to_pylist()
    rows[1] |= changes
    if sealed:
        rows[1]["id"] = changes.get("id", f"{rows[1]['task']}/{rows[1]['source']}")
        rows[1]["digest"] = changes.get("digest", row_digest(rows[1]))
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    if sealed:
        summary["digest"] = manifest_digest(table["id"], table["digest"])
        summary["tasks"] = sorted({row["task"] for row in rows})
    pq.write_table(table, shard)
    path.write_text(json.dumps(summary))


def read_everything(prior):
    """All commands that read a manifest and need no Ray."""
    Path("spec.yaml").write_text(yaml.safe_dump(specification("manifest", prior, "out")))
    g2d2("manifest", "check", "manifest")
    g2d2("manifest", "show", "manifest", "--sheet", "sheet.png")
    g2d2("plan", "spec.yaml", "--no-calibration")
    shutil.rmtree("out", ignore_errors=True)


def copied(manifest):
    shutil.rmtree("manifest", ignore_errors=True)
    return Path(shutil.copytree(manifest, "manifest"))


@amounts(quick=40, slow=1500)
def test_odd_rows(examples, manifest, tiny_prior):
    def check(case):
        put_row(copied(manifest), *case)
        read_everything(tiny_prior)

    also = [
        ({"task": "a\nb"}, False),
        ({"id": "a\tb", "operator": "s3:///x"}, False),
        ({"operator_params": TEXT}, True),
    ]
    each_case(examples, odd_rows(), check, also)


@amounts(quick=None, slow=40)
def test_a_sweep_over_an_odd_row_costs_no_other(examples, manifest, tiny_prior, local_ray, tmp_path):
    def check(case):
        put_row(copied(manifest), *case)
        shutil.rmtree("out", ignore_errors=True)
        values = specification(tmp_path / "manifest", tiny_prior, tmp_path / "out", solver={"settings": QUICK}, grid={})
        Path("spec.yaml").write_text(yaml.safe_dump(values))
        done = g2d2("sweep", "spec.yaml", "--json")
        if done.code == 2:
            return
        (table,) = Path("out", "results").glob("*.parquet")
        rows = pq.read_table(table).to_pylist()
        changes, sealed = case
        taking_part = 3 if sealed or "task" not in changes else 2  # manifest.json names the tasks that there are
        assert len(rows) == len({row["item"] for row in rows}) == taking_part
        assert sum(row["error"] is not None for row in rows) <= done.code

    each_case(examples, odd_rows(), check)


KINDS = [
    pa.string(), pa.int8(), pa.float16(), pa.large_binary(), pa.list_(pa.int64()), pa.null(),
    pa.struct([("a", pa.int32())]), pa.dictionary(pa.int8(), pa.string()),
]  # fmt: skip


@st.composite
def other_tables(draw, names):
    """What `other_columns` does to a table of these columns."""
    name = draw(st.sampled_from(names))
    kind = draw(st.sampled_from(KINDS))
    way = draw(st.sampled_from(["drop", "rename", "empty", "nulls", "kind", "extra", "order", "twice"]))
    return name, kind, way


def other_columns(table, name, kind, way):
    place = table.column_names.index(name)
    nothing = pa.nulls(len(table), kind)
    return {
        "drop": lambda: table.drop_columns([name]),
        "rename": lambda: table.rename_columns([f"{one}_" if one == name else one for one in table.column_names]),
        "empty": lambda: table.slice(0, 0),
        "nulls": lambda: table.set_column(place, name, pa.nulls(len(table), table[name].type)),
        "kind": lambda: table.set_column(place, name, nothing),
        "extra": lambda: table.append_column("extra", nothing),
        "order": lambda: table.select(table.column_names[::-1]),
        "twice": lambda: table.append_column(name, table[name]),
    }[way]()


@amounts(quick=30, slow=300)
def test_other_columns(examples, manifest, tiny_prior):
    def check(case):
        (shard,) = copied(manifest).glob("*.parquet")
        pq.write_table(other_columns(pq.read_table(shard), *case), shard)
        read_everything(tiny_prior)

    each_case(examples, other_tables(SCHEMA.names), check)


@amounts(quick=30, slow=1000)
def test_damaged_files(examples, manifest, tiny_prior):
    files = sorted(path for path in Path(manifest).rglob("*") if path.is_file())
    damage = st.sampled_from(files).flatmap(
        lambda path: st.tuples(st.just(path.name), spoiled_bytes(path.read_bytes()))
    )
    summary = json.loads(Path(manifest, "manifest.json").read_text())
    text = spoiled(summary).map(lambda tree: ("manifest.json", json.dumps(tree, default=str).encode()))

    def check(case):
        name, content = case
        (copied(manifest) / name).write_bytes(content)
        read_everything(tiny_prior)

    each_case(examples, st.one_of(damage, text), check)


CELL_SCHEMA = pa.schema([("id", pa.string()), ("label", pa.string()), ("image", pa.binary())])
CELLS = {
    "id": [*TEXTS, None],
    "label": [*TEXTS, None],
    "image": [b"", None, b"{}", picture()[:60], picture("P")],
}


@amounts(quick=30, slow=500)
def test_a_table_of_pictures_is_built_without_its_bad_row(examples):
    good = picture()
    cells = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in CELLS.items()})

    def check(row):
        rows = [{"id": "a", "label": "dog", "image": good}, row, {"id": "b", "label": "cat", "image": good}]
        pq.write_table(pa.Table.from_pylist(rows, schema=CELL_SCHEMA), "source.parquet")
        built = g2d2("manifest", "build", "source.parquet", "built", *OPERATOR, "--overwrite")
        assert built.code in (0, 1), built
        assert json.loads(g2d2("manifest", "show", "built", "--json").out)["rows"] == 3 - built.code

    each_case(examples, cells, check)


@amounts(quick=20, slow=300)
def test_a_table_of_other_columns_is_built_or_refused(examples):
    good = picture()
    rows = [{"id": name, "label": "dog", "image": good} for name in "abc"]
    table = pa.Table.from_pylist(rows, schema=CELL_SCHEMA)

    def check(case):
        pq.write_table(other_columns(table, *case), "source.parquet")
        g2d2("manifest", "build", "source.parquet", "built", *OPERATOR, "--overwrite")

    each_case(examples, other_tables(table.column_names), check)


@amounts(quick=30, slow=500)
def test_lines_of_a_csv(examples, tmp_path):
    (tmp_path / "a.png").write_bytes(picture())
    text = st.one_of(st.sampled_from(ODD_STRINGS), words)
    line = st.builds("{},{}".format, st.one_of(text, st.just("a.png")), text)

    def check(lines):
        content = "\n".join(["image_path,prompt", "a.png,good", *lines])
        (tmp_path / "source.csv").write_text(content, encoding="utf-8", errors="surrogatepass")
        g2d2("manifest", "build", "source.csv", "built", *OPERATOR, "--overwrite")

    each_case(examples, st.lists(line, min_size=1, max_size=3), check)
