"""A store keeps its word on disk and on a real S3 server alike."""

import errno
import os
import pickle
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from operators import InputError
from operators.validation import validate
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.storage import MissingObjectError, StoreError, open_store
from pipelines.storage.retrying import retry_seconds, retrying
from tests.pipelines.nightly.hand_solved import HandSolved
from tests.pipelines.sweep_cases import specification


@pytest.fixture(params=["local", "s3"])
def store(request, tmp_path):
    if request.param == "local":
        return open_store(tmp_path / "results")
    environment = request.getfixturevalue("s3_env")
    return open_store(f"s3://{environment['G2D2_BUCKET']}/{uuid.uuid4().hex}")


def test_bytes_come_back(store):
    for data in (b"", b"one", os.urandom(300_000)):
        store.write_bytes("a/b c/ü+%20.bin", data)
        assert store.read_bytes("a/b c/ü+%20.bin") == data
        assert store.size("a/b c/ü+%20.bin") == len(data)
    assert store.list() == ["a/b c/ü+%20.bin"]


def test_missing_objects(store):
    store.write_bytes("folder/x", b"1")
    for name in ("nothing", "folder", "folder/x/y"):
        assert not store.exists(name)
        with pytest.raises(MissingObjectError, match=f"there is no .*{name}"):
            store.read_bytes(name)
        with pytest.raises(MissingObjectError, match=f"there is no .*{name}"):
            store.size(name)
        store.delete(name)
    assert store.exists("folder/x")
    store.delete("folder/x")
    assert not store.exists("folder/x")
    assert store.list() == []


def test_list_is_by_beginning_of_the_name_and_sorted(store):
    for name in ("b/2", "b/10", "b.c", "a", "bb/1/2"):
        store.write_bytes(name, b"")
    assert store.list() == ["a", "b.c", "b/10", "b/2", "bb/1/2"]
    assert store.list("b/") == ["b/10", "b/2"]
    assert store.list("b/1") == ["b/10"]
    assert store.list("bb") == ["bb/1/2"]
    assert store.list("none/") == []
    assert store.child("bb").list() == ["1/2"]


def test_create_new_has_one_winner(store):
    contenders = 4
    for turn in range(5):
        barrier, wins = threading.Barrier(contenders), []

        def contend(me, turn=turn, barrier=barrier, wins=wins):
            barrier.wait()
            if store.create_new(f"lock-{turn}", str(me).encode() * 1000):
                wins.append(me)

        threads = [threading.Thread(target=contend, args=(me,)) for me in range(contenders)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(wins) == 1
        assert store.read_bytes(f"lock-{turn}") == str(wins[0]).encode() * 1000
    assert store.list() == [f"lock-{turn}" for turn in range(5)]


def test_create_new_after_delete_and_over_a_plain_write(store):
    store.write_bytes("x", b"old")
    assert store.create_new("x", b"new") is False
    assert store.read_bytes("x") == b"old"
    store.delete("x")
    assert store.create_new("x", b"new") is True


def test_tables_and_datasets(store):
    for part in range(3):
        store.write_table(f"t/part-{part}.parquet", pa.table({"part": [part] * 4, "row": range(4)}))
    assert store.read_table("t/part-1.parquet", columns=["row"]).to_pydict() == {"row": [0, 1, 2, 3]}
    whole = ds.dataset(store.path("t"), filesystem=store.filesystem, format="parquet").to_table()
    assert sorted(whole["part"].to_pylist()) == [0] * 4 + [1] * 4 + [2] * 4


def test_what_arrow_writes_is_listed(store):
    # a local file system does not make folders by itself
    store.write_bytes("out/first", b"")
    with store.filesystem.open_output_stream(store.path("out/x.parquet")) as stream:
        stream.write(b"PAR1")
    store.filesystem.create_dir(store.path("out/empty"))
    assert store.list("out/") == ["out/first", "out/x.parquet"]


def test_a_pickle_holds_the_url_alone(store):
    store.write_bytes("x", b"1")
    frozen = pickle.dumps((store, store.filesystem))
    for name in ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"):
        assert os.environ.get(name, "no such key").encode() not in frozen
    again, filesystem = pickle.loads(frozen)  # noqa: S301 made two lines above
    assert again.url() == store.url()
    assert again.read_bytes("x") == b"1"
    assert filesystem.get_file_info(again.path("x")).size == 1


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "../x", "a/../b", "a/..", "./a", "a//b", "a/", "a\\b", "a\nb", "a\0", "x" * 256]
)
def test_names_that_lead_elsewhere_are_refused(store, name):
    operations = [store.read_bytes, store.exists, store.size, store.delete, store.child, store.path]
    operations += [lambda n: store.write_bytes(n, b""), lambda n: store.create_new(n, b"")]
    for operation in operations:
        with pytest.raises(InputError, match="name in the store"):
            operation(name)


@pytest.mark.parametrize("prefix", ["../", "/", "a/../", "a\\"])
def test_prefixes_that_lead_elsewhere_are_refused(store, prefix):
    with pytest.raises(InputError, match="name in the store"):
        store.list(prefix)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "must be a path"),
        ("gs://bucket/x", "starts with 'gs'"),
        ("s3://", "bucket"),
        ("s3://b", "3 to 63"),
        ("s3://bucket/a/../b", "name in the store"),
        ("s3://bucket/a?endpoint_override=x", "AWS_ENDPOINT_URL"),
        ("file://host/x", "file:///"),
        ("s3://bucket/a\nb", "must be a path"),
    ],
)
def test_bad_urls(url, said):
    with pytest.raises(InputError, match=said):
        open_store(url)


@pytest.mark.parametrize("url", ["s3://AKIAME:hush/hush@bucket/x", "s3://AKIAME:hushhush@host:80/x", "s3://me@bucket"])
def test_urls_with_credentials_are_refused_unseen(url):
    with pytest.raises(InputError, match="holds credentials") as caught:
        open_store(url)
    assert "hush" not in str(caught.value)
    assert "AKIA" not in str(caught.value)


def test_local_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert open_store("results").url("a") == str(tmp_path / "results" / "a")
    assert open_store((tmp_path / "r s").as_uri()).url() == str(tmp_path / "r s")


def test_a_failed_write_leaves_the_old_content_and_no_trace(tmp_path, monkeypatch):
    store = open_store(tmp_path)
    store.write_bytes("x", b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="no space is left; free some"):
        store.write_bytes("x", b"new")
    assert store.read_bytes("x") == b"old"
    assert os.listdir(tmp_path) == ["x"]


def test_create_new_without_hard_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    store = open_store(tmp_path)
    assert [store.create_new("x", b"1"), store.create_new("x", b"2")] == [True, False]
    assert store.read_bytes("x") == b"1"


def test_local_refusals_say_what_to_do(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="a part of the path is a file"):
        open_store(tmp_path).write_bytes("file/x", b"")
    with pytest.raises(StoreError, match=r"read-only|permission is denied|check the path"):
        open_store("/proc/g2d2").write_bytes("x", b"")


def test_errors_that_waiting_cannot_cure_are_not_repeated():
    calls = []

    def fail():
        calls.append(1)
        raise KeyError("x")

    with pytest.raises(KeyError):
        retrying(fail, lambda error: isinstance(error, OSError), 60, "it")
    assert len(calls) == 1


@pytest.mark.parametrize("value", ["soon", "-1", "nan", "inf"])
def test_retry_seconds_are_checked(monkeypatch, value):
    monkeypatch.setenv("G2D2_STORE_RETRY_SECONDS", value)
    with pytest.raises(InputError, match=f"G2D2_STORE_RETRY_SECONDS is '{value}'"):
        retry_seconds()


def test_what_lies_directly_in_a_store(store):
    assert store.top() == []
    for name in ("b/2", "b/10/1", "b.c", "a"):
        store.write_bytes(name, b"")
    assert store.top() == ["a", "b.c", "b/"]
    assert store.child("b").top() == ["10/", "2"]


@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="Linux counts what a process reads")
@pytest.mark.parametrize("read", ["read_table", "read_columns"])
def test_only_the_columns_asked_for_are_read_from_a_disk(read, tmp_path):
    store, rows = open_store(tmp_path), 64
    pictures = [os.urandom(100_000) for _ in range(rows)]
    store.write_table("t.parquet", pa.table({"item": range(rows), "image": pictures, "error": [None] * rows}))
    before = _characters_read()
    table = getattr(store, read)("t.parquet", columns=["item", "error"])
    assert _characters_read() - before < 1_000_000
    assert table["item"].to_pylist() == [*range(rows)]
    assert store.read_table("t.parquet")["image"].to_pylist() == pictures


def _characters_read():
    with open("/proc/self/io") as file:
        return int(file.readline().removeprefix("rchar: "))


def test_a_large_object_is_written_through_a_file(store):
    data = os.urandom(3_000_000)
    assert store.write_with("a/large", lambda file: file.write(data)) == len(data)
    assert store.read_bytes("a/large") == data

    def broken(file):
        file.write(b"half")
        raise InputError("it broke")

    with pytest.raises(InputError, match="it broke"):
        store.write_with("a/large", broken)
    assert store.read_bytes("a/large") == data
    assert store.list() == ["a/large"]


def test_reading_a_table_leaves_no_thread_that_could_outlive_the_command(tmp_path):
    code = """
import os, sys
import pyarrow as pa
import pyarrow.dataset, pyarrow.parquet
from pipelines.storage import open_store
store = open_store(sys.argv[1])
store.write_table("t.parquet", pa.table({f"c{n}": list(range(100)) for n in range(20)}))
before = len(os.listdir("/proc/self/task"))
store.read_table("t.parquet")
store.read_columns("t.parquet", ["c1", "c2"])
print(len(os.listdir("/proc/self/task")) - before)
"""
    if not Path("/proc/self/task").exists():
        pytest.skip("threads are counted in /proc")
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=180)
    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr


COUNTED = """
import os, sys, time
import pyarrow.dataset, pyarrow.parquet
from pipelines.cli import main
def tasks():
    return {int(name) for name in os.listdir("/proc/self/task")}
before = tasks()
code = main(sys.argv[1:])
for _ in range(20):  # a thread that was joined may take a moment to go; one of Arrow's pools stays
    if tasks() <= before:
        break
    time.sleep(0.1)
print(len(tasks() - before), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_commands_that_read_leave_no_thread_that_could_outlive_them(small_manifest, tiny_prior, tmp_path):
    values = specification(small_manifest, tiny_prior, tmp_path / "o")
    collected = HandSolved()(validate(SweepSpec, values, where="specification")).scores_url
    for words in (["status", values["output"]], ["compare", collected, collected]):
        done = subprocess.run([sys.executable, "-c", COUNTED, *words], capture_output=True, text=True, timeout=180)
        assert (done.stderr.splitlines()[-1:], done.returncode) == (["0"], 0), (words, done.stderr)


@pytest.mark.parametrize(
    ("code", "status"),
    [("QuotaExceeded", 403), ("XMinioAdminBucketQuotaExceeded", 400), ("XMinioStorageFull", 507), ("Other", 507)],
)
def test_a_full_bucket_is_said_to_be_full_and_not_tried_again(code, status):
    from botocore.exceptions import ClientError

    from pipelines.storage.s3_errors import explain, is_transient

    answer = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    error = ClientError(answer, "PutObject")
    assert not is_transient(error)
    assert explain(error, "http://here", 60) == "no space is left there; free some or choose another place"
