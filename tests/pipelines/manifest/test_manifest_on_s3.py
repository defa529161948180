"""The same manifests in a bucket of a real S3 server, from sources there."""

import pickle
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from operators import InputError
from pipelines.manifest import Manifest, check_manifest
from pipelines.storage import StoreError, open_store


@pytest.fixture
def bucket(s3_env):
    return f"s3://g2d2/{uuid.uuid4().hex}"


@pytest.fixture
def sources(bucket, make_table):
    """The same five pictures as a Parquet file here, and as Parquet, folder and CSV in the bucket."""
    local = make_table(5)
    store = open_store(bucket)
    table = pq.read_table(local)
    store.write_table("set/one.parquet", table)
    for row in table.to_pylist():
        store.write_bytes(f"pictures/{row['id']}.png", row["image"])
    lines = ["id,image_path", *(f"{name},../pictures/{name}.png" for name in table["id"].to_pylist())]
    store.write_bytes("lists/set.csv", "\n".join(lines).encode())
    return {"here": local} | {
        name: f"{bucket}/{name}" for name in ("set/one.parquet", "set", "pictures", "lists/set.csv")
    }


@pytest.mark.slow
def test_every_source_gives_the_same_manifest_in_every_place(sources, bucket, build, tmp_path):
    digests = {}
    for number, (name, source) in enumerate(sources.items()):
        for place in (tmp_path, bucket):
            digests[name, place] = build(source, f"{place}/m{number}", rows_per_shard=2).summary.digest
    assert len(digests) == 10
    assert len(set(digests.values())) == 1, digests


def test_rows_are_fetched_and_checked_from_the_bucket(sources, bucket, build, g2d2):
    built = build(sources["set"], f"{bucket}/m", rows_per_shard=2)
    assert open_store(f"{bucket}/m").list() == ["manifest.json", *(f"part-0000{n}.parquet" for n in range(3))]
    manifest = pickle.loads(pickle.dumps(Manifest.open(f"{bucket}/m")))  # noqa: S301 (our own)
    assert manifest.url == built.url == f"{bucket}/m"
    index = pa.Table.from_batches(manifest.index())
    assert index["source"].to_pylist() == [f"img-{number}" for number in range(5)]
    assert manifest.fetch([(2, 0), (0, 1)])["source"].to_pylist() == ["img-4", "img-1"]
    assert list(check_manifest(manifest)) == []
    assert g2d2("check", manifest.url)[0] == 0
    assert g2d2("show", manifest.url)[0] == 0
    assert build(sources["set"], f"{bucket}/m").was_there
    with pytest.raises(InputError, match="--overwrite replaces it"):
        build(sources["set"], f"{bucket}/m", seed=1)
    build(sources["here"], f"{bucket}/m", seed=1, overwrite=True)
    assert open_store(f"{bucket}/m").list() == ["manifest.json", "part-00000.parquet"]


def test_a_missing_picture_is_rejected_and_a_missing_bucket_ends_the_build(bucket, build, g2d2, tmp_path, monkeypatch):
    store = open_store(bucket)
    store.write_bytes("list.csv", b"image_path\nnone.png\n../../../x.png\n")
    code, _, errors = g2d2("build", f"{bucket}/list.csv", tmp_path / "m", "--operator", "identity")
    assert code == 2
    assert f"image {bucket}/none.png: there is no such file." in errors
    assert "rejected 2 pictures:" in errors
    with pytest.raises(InputError, match=f"{bucket}/m: there is no such manifest"):
        Manifest.open(f"{bucket}/m")
    with pytest.raises(StoreError):
        Manifest.open("s3://no-such-bucket/m")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret")
    with pytest.raises(StoreError) as caught:
        build(f"{bucket}/pictures", f"{bucket}/m")
    assert len(str(caught.value).splitlines()) == 1
    assert "wrong-secret" not in str(caught.value)


@pytest.mark.slow
def test_a_store_that_goes_away_ends_the_build_without_a_manifest(sources, bucket, build, s3_server, monkeypatch):
    monkeypatch.setenv("G2D2_STORE_RETRY_SECONDS", "0")
    from pipelines.manifest import building

    real, batches = building.to_batch, []

    def stopping(rows):
        batches.append(len(rows))
        s3_server.stop()
        return real(rows)

    try:
        with monkeypatch.context() as patch:
            patch.setattr(building, "to_batch", stopping)
            with pytest.raises(StoreError):
                build(sources["here"], f"{bucket}/m")
    finally:
        s3_server.start()
    assert batches == [5]
    assert "manifest.json" not in open_store(f"{bucket}/m").list()
    assert build(sources["here"], f"{bucket}/m").summary.rows == 5
