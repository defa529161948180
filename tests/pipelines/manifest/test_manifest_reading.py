"""Reading: the index, single rows, what is kept in memory, and what cannot be opened."""

import io
import json
import pickle
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from operators import InputError
from pipelines.manifest import (
    SCHEMA,
    BuildSettings,
    Manifest,
    build_manifest,
    build_row_operator,
    decode_truth,
    measurement,
    read_row,
    reading,
)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored")
    images = []
    for number in range(110):
        buffer = io.BytesIO()
        pixels = np.random.default_rng(number).integers(0, 256, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(buffer, "PNG")
        images.append(buffer.getvalue())
    pq.write_table(pa.table({"id": [f"img-{n}" for n in range(110)], "image": images}), folder / "s.parquet")
    settings = BuildSettings(source=str(folder / "s.parquet"), operator="identity", rows_per_shard=80)
    return build_manifest(settings, str(folder / "manifest")).url


@pytest.fixture
def manifest(stored, tmp_path):
    return Manifest.open(shutil.copytree(stored, tmp_path / "manifest"))


def places(manifest):
    return [(row["shard"], row["row"]) for batch in manifest.index() for row in batch.to_pylist()]


def test_the_index_streams_light_columns_with_places(manifest):
    batches = list(manifest.index())
    assert batches[0].schema.names == [
        "id", "source", "task", "signal", "y_shape", "x_shape", "operator", "operator_params", "sigma", "prompt",
        "seed", "digest", "shard", "row",
    ]  # fmt: skip
    assert (batches[0].schema.field("shard").type, batches[0].schema.field("row").type) == (pa.int32(), pa.int32())
    assert places(manifest) == [(0, row) for row in range(80)] + [(1, row) for row in range(30)]
    assert next(manifest.index(["label", "id"])).schema.names == ["label", "id", "shard", "row"]
    with pytest.raises(InputError, match="'pixels' is not in a manifest"):
        next(manifest.index(["pixels"]))


def test_fetch_returns_the_rows_asked_for_in_order(manifest):
    wanted = [(1, 3), (0, 79), (0, 0), (1, 3), (0, 64)]
    table = manifest.fetch(wanted)
    assert table.schema.equals(SCHEMA)
    assert table["source"].to_pylist() == ["img-83", "img-79", "img-0", "img-83", "img-64"]
    whole = pq.read_table([f"{manifest.url}/{shard.name}" for shard in manifest.summary.shards])
    assert table["y"][1].as_py() == whole["y"][79].as_py()
    assert table["truth"][0].as_py() == whole["truth"][83].as_py()
    assert manifest.fetch([]).num_rows == 0


@pytest.mark.parametrize("place", [(0, 80), (2, 0), (-1, 0), (0, -1)])
def test_places_that_do_not_exist_are_named(manifest, place):
    with pytest.raises(InputError, match="has no such shard and row"):
        manifest.fetch([place])


def test_only_the_row_groups_needed_are_read_and_few_are_kept(manifest, monkeypatch):
    read = []
    real = pq.ParquetFile.read_row_group

    def counted(self, group, **options):
        read.append(group)
        return real(self, group, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    manifest.fetch([(0, 1), (0, 63), (0, 2)])
    assert read == [0]
    manifest.fetch([(0, 5), (0, 64)])
    assert read == [0, 1]
    monkeypatch.setattr(reading, "CACHE_BYTES", 1)
    manifest.fetch([(0, 64), (0, 0), (1, 0)])
    assert len(manifest._groups) == 1


def test_many_shards_do_not_stay_open(make_table, build, monkeypatch):
    monkeypatch.setattr(reading, "_OPEN_SHARDS", 2)
    manifest = Manifest.open(build(make_table(12), rows_per_shard=2).url)
    index = manifest.index(["id"])
    next(index)
    assert manifest.fetch(places(manifest)).num_rows == 12
    assert len(manifest._shards) == 2
    assert sum(batch.num_rows for batch in index) == 10


def test_it_travels_as_its_url(manifest, tmp_path, monkeypatch):
    manifest.fetch([(0, 0)])
    packed = pickle.dumps(manifest)
    assert len(packed) < 300
    monkeypatch.chdir(tmp_path)
    again = pickle.loads(packed)  # noqa: S301 (our own)
    assert (again.url, again.digest, again.rows, again.tasks) == (manifest.url, manifest.digest, 110, ["identity"])
    assert Manifest.open("manifest").url == str(tmp_path / "manifest")  # a worker has another working folder


def test_rows_become_tensors_and_operators(manifest):
    table = manifest.fetch([(0, 7)])
    row, plain = read_row(table, 0), table.to_pylist()[0]
    assert measurement(row).dtype == torch.float32
    assert torch.equal(measurement(row), measurement(plain))
    assert decode_truth(row).shape == (3, 8, 8)
    operator = build_row_operator(row)
    assert (operator.name, operator.x_shape) == ("identity", (3, 8, 8))
    assert build_row_operator(row) is not operator
    residual = measurement(row) - operator(decode_truth(row)[None])[0]
    assert residual.std() == pytest.approx(0.05, rel=0.2)


@pytest.mark.parametrize(
    ("use", "change", "message"),
    [
        (measurement, {"y": [0.0] * 5}, "y has 5 values, which do not fill its y_shape"),
        (measurement, {"y": [float("nan")] * 192}, "192 NaN or infinite values"),
        (measurement, {"y_shape": [3, 4, 16]}, "the measurement batch has shape"),
        (decode_truth, {"truth": None}, "it holds no ground truth"),
        (decode_truth, {"truth": b"x"}, "cannot be read as a picture"),
        (decode_truth, {"x_shape": [3, 9, 9]}, "x_shape says"),
        (build_row_operator, {"operator": "blur"}, "operator is 'blur'"),
        (build_row_operator, {"operator_params": "{"}, "must be a JSON object"),
        (build_row_operator, {"operator_params": '{"a":1}'}, "unknown setting 'a'"),
    ],
)
def test_a_bad_row_is_named(manifest, use, change, message):
    row = manifest.fetch([(0, 7)]).to_pylist()[0] | change
    with pytest.raises(InputError, match=message) as caught:
        use(row)
    assert "identity/img-7" in str(caught.value)


def test_what_cannot_be_opened_is_one_sentence(manifest, tmp_path):
    with pytest.raises(InputError, match=r"nowhere: there is no such manifest"):
        Manifest.open(str(tmp_path / "nowhere"))
    text = tmp_path / "manifest" / "manifest.json"
    values = json.loads(text.read_text())
    for content, message in (
        (
            json.dumps(values | {"format_version": 1}),
            "its format_version is 1 and this program reads 2; build it again with the same command and --overwrite: "
            "the measurements will be the same",
        ),
        (json.dumps([]), "its format_version is None"),
        (json.dumps(values | {"rows": "many"}), "rows is 'many'"),
        ("{", "its manifest.json is not JSON"),
    ):
        text.write_text(content)
        with pytest.raises(InputError, match=message) as caught:
            Manifest.open(manifest.url)
        assert len(str(caught.value).splitlines()) == 1
    text.unlink()
    with pytest.raises(InputError, match="it is incomplete"):
        Manifest.open(manifest.url)


def test_a_damaged_shard_is_named(manifest, tmp_path):
    shards = [tmp_path / "manifest" / shard.name for shard in manifest.summary.shards]
    shards[1].write_bytes(shards[1].read_bytes()[:-20])
    with pytest.raises(InputError, match=r"its shard part-00001.parquet cannot be read"):
        manifest.fetch([(1, 0)])
    with pytest.raises(InputError, match=r"its shard part-00001.parquet cannot be read"):
        list(Manifest.open(manifest.url).index())
    pq.write_table(pa.table({"id": ["a"]}), shards[1])
    with pytest.raises(InputError, match="its columns are not those of a manifest"):
        manifest.fetch([(1, 0)])
    shutil.rmtree(tmp_path / "manifest")
    with pytest.raises(InputError, match=r"its shard part-00000.parquet cannot be read"):
        manifest.fetch([(0, 0)])


def test_measurements_are_found_where_they_lie_now(stored, tmp_path):
    before = Manifest.open(stored)
    places, wanted = [(0, 3), (1, 2), (0, 70)], before.fetch([(0, 3), (1, 2), (0, 70)])
    digests = wanted["digest"].to_pylist()
    source = before.summary.built["source"]
    settings = BuildSettings(source=source, operator="identity", rows_per_shard=7)
    after = Manifest.open(build_manifest(settings, str(tmp_path / "m")).url)
    assert after.digest == before.digest
    assert after.fetch_measured(places, digests).equals(wanted)
    assert before.fetch_measured(places, digests).equals(wanted)
    with pytest.raises(InputError, match="digest 0000 is not in it any more"):
        after.fetch_measured(places[:1], ["0000"])
