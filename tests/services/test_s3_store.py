"""The S3 store against a real server: refusals, outages, lost answers, other processes."""

import multiprocessing
import threading
import time
import traceback
import uuid

import pytest

from operators import InputError
from pipelines.storage import StoreError, open_store


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setenv("G2D2_STORE_RETRY_SECONDS", "0")


@pytest.fixture
def store(s3_env):
    return open_store(f"s3://g2d2/{uuid.uuid4().hex}")


def s3():
    return open_store("s3://g2d2/x")


def test_list_goes_on_past_one_page(store, monkeypatch):
    names = [f"n{i}" for i in range(7)]
    for name in names:
        store.write_bytes(name, b"")
    client = store._client()
    original = client.call_s3
    pages = []

    def small_pages(method, **options):
        pages.append(method)
        return original(method, MaxKeys=3, **options)

    monkeypatch.setattr(client, "call_s3", small_pages)
    assert store.list() == names
    assert len(pages) == 3


HTML = "text/html; charset=utf-8"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("index.html", HTML), ("a/b.json", "application/json"), ("chart.svg", "image/svg+xml"), ("x.png", "image/png")],
)
@pytest.mark.parametrize("write", ["write_bytes", "write_with", "create_new"])
def test_a_browser_is_told_what_an_object_is(store, name, kind, write):
    """Else it saves a page that it should show."""
    content = (lambda file: file.write(b"<p>")) if write == "write_with" else b"<p>"
    getattr(store, write)(name, content)
    assert head(store, name)["ContentType"] == kind


def head(store, name):
    bucket, _, key = store.path(name).partition("/")
    return store._client().call_s3("head_object", Bucket=bucket, Key=key)


def test_an_object_in_parts_has_its_kind_too_and_one_of_unknown_kind_is_stored(store, monkeypatch):
    client = store._client()
    pipe = client.pipe_file
    monkeypatch.setattr(client, "pipe_file", lambda *args, **options: pipe(*args, chunksize=5 * 2**20, **options))
    store.write_bytes("report.html", bytes(11 * 2**20))
    told = head(store, "report.html")
    assert told["ContentType"] == HTML
    assert told["ETag"].strip('"').endswith("-3")
    store.write_bytes("shard.unknown", b"")
    assert store.size("shard.unknown") == 0


def _read_in_worker(store, queue):
    queue.put((store.read_bytes("x"), store.filesystem.get_file_info(store.path("x")).size))


@pytest.mark.slow
def test_another_process_rebuilds_it_from_its_environment(store):
    store.write_bytes("x", b"123")
    spawn = multiprocessing.get_context("spawn")
    queue = spawn.Queue()
    worker = spawn.Process(target=_read_in_worker, args=(store, queue))
    worker.start()
    assert queue.get(timeout=60) == (b"123", 3)
    worker.join()


def test_endpoints_with_credentials_are_refused_unseen(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://me:hush@127.0.0.1:1")
    for use in (lambda: s3().list(), lambda: s3().filesystem):
        with pytest.raises(InputError, match="AWS_ENDPOINT_URL holds credentials") as caught:
            use()
        assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "hush" * 8}, "the secret key is wrong; correct AWS_ACCESS_KEY_ID"),
        ({"AWS_ACCESS_KEY_ID": "HUSH"}, "the access key is unknown there; correct AWS_ACCESS_KEY_ID"),
        ({"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}, "there are no keys; set AWS_ACCESS_KEY_ID"),
        ({"AWS_SECRET_ACCESS_KEY": None}, "the keys are incomplete; correct"),
        ({"AWS_PROFILE": "nobody"}, "the profile does not exist; correct AWS_PROFILE"),
        ({"AWS_ENDPOINT_URL": "127.0.0.1:9"}, "AWS_ENDPOINT_URL is '127.0.0.1:9'"),
    ],
)
def test_wrong_access_is_one_sentence_without_secrets(s3_env, monkeypatch, changes, said):
    for name, value in changes.items():
        if value is None:
            monkeypatch.delenv(name)
        else:
            monkeypatch.setenv(name, value)
    store = s3()
    operations = [store.list, lambda: store.read_bytes("a"), lambda: store.exists("a"), lambda: store.delete("a")]
    operations += [lambda: store.write_bytes("a", b""), lambda: store.create_new("a", b""), lambda: store.size("a")]
    for operation in operations:
        with pytest.raises(InputError, match=said) as caught:
            operation()
        printed = "".join(traceback.format_exception(caught.value))
        assert str(caught.value).count("\n") == 0
        assert "hush" not in printed.lower()
        assert "botocore" not in printed


def test_a_missing_bucket_is_named(s3_env):
    store = open_store("s3://g2d2-nowhere/x")
    for operation in (store.list, lambda: store.read_bytes("a"), lambda: store.write_bytes("a", b"")):
        with pytest.raises(StoreError, match=r"store s3://g2d2-nowhere.*: the bucket does not exist; create it"):
            operation()
    with pytest.raises(StoreError, match="the bucket does not exist"):
        store.exists("a")


def test_an_endpoint_that_is_not_there(s3_env, monkeypatch, impatient):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StoreError, match=r"http://127\.0\.0\.1:9 cannot be reached; start it"):
        s3().write_bytes("a", b"")


def test_retries_end_in_time(s3_env, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("G2D2_STORE_RETRY_SECONDS", "2")
    store, began = s3(), time.monotonic()
    with pytest.raises(StoreError, match="cannot be reached"):
        store.read_bytes("a")
    assert 2 <= time.monotonic() - began < 8


def test_a_store_that_goes_away_and_comes_back_is_survived(s3_server, store):
    store.write_bytes("before", b"1")
    s3_server.stop()
    results = {}

    def use():
        results["wrote"] = store.write_bytes("during", b"2")
        results["won"] = store.create_new("lock", b"3")
        results["read"] = store.read_bytes("before")

    def use_arrow():
        results["arrow"] = store.filesystem.get_file_info(store.path("before")).size

    threads = [threading.Thread(target=use), threading.Thread(target=use_arrow)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(1.5)
        assert results == {}
    finally:
        s3_server.start()
    for thread in threads:
        thread.join(timeout=60)
    assert results == {"wrote": None, "won": True, "read": b"1", "arrow": 1}
    assert store.list() == ["before", "during", "lock"]


def test_a_lock_won_by_a_put_whose_answer_was_lost_is_kept(store, monkeypatch):
    client = store._client()
    original, calls = client.pipe_file, []

    def lose_first_answer(*args, **options):
        calls.append(original(*args, **options))
        if len(calls) == 1:
            raise ConnectionResetError("lost")

    monkeypatch.setattr(client, "pipe_file", lose_first_answer)
    assert store.create_new("lock", b"mine") is True
    assert store.create_new("lock", b"theirs") is False
