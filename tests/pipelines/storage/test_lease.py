"""A lease has one holder; a live one keeps others out, a dead one does not keep them out for long."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid

import pytest

from pipelines.storage import StoreError, lease, open_store

BEAT, EXPIRY = 0.1, 1.0


@pytest.fixture(params=["local", "s3"])
def url(request, tmp_path):
    if request.param == "local":
        return str(tmp_path / "lease")
    environment = request.getfixturevalue("s3_env")
    return f"s3://{environment['G2D2_BUCKET']}/{uuid.uuid4().hex}"


def never():
    raise AssertionError("the lease was lost")


def acquire(url, expiry=EXPIRY):
    return lease.acquire(url, BEAT, expiry)


def test_a_live_holder_keeps_others_out_and_a_released_lease_is_free_at_once(url):
    refusal = pytest.raises(lease.LeaseHeldError, match=f"{os.getpid()} holds it and is at work; wait")
    with lease.held(url, never, BEAT, EXPIRY), refusal:
        acquire(url, expiry=30)
    began = time.monotonic()
    again = acquire(url, expiry=30)
    assert time.monotonic() - began < 10
    assert again.number == 2
    assert open_store(url).list() == ["0000000002.json"]


def test_a_silent_holder_is_replaced_and_learns_of_it(url):
    silent = acquire(url)
    began = time.monotonic()
    successor = acquire(url)
    assert time.monotonic() - began >= EXPIRY
    assert successor.number == silent.number + 1
    assert silent.beat() is False
    silent.release()
    assert successor.beat() is True
    assert json.loads(open_store(url).read_bytes("0000000002.json"))["beats"] == 1


def test_what_else_lies_there_is_left_alone(tmp_path):
    (tmp_path / "-notes.json").write_text("mine")
    (tmp_path / "7.json").write_text("mine too")
    acquire(str(tmp_path)).release()
    assert acquire(str(tmp_path)).number == 2
    assert sorted(os.listdir(tmp_path)) == ["-notes.json", "0000000002.json", "7.json"]


def test_one_of_many_wins(tmp_path):
    acquire(str(tmp_path))  # and falls silent
    won, refused = [], []
    release = threading.Event()

    def contend():
        try:
            with lease.held(str(tmp_path), never, BEAT, EXPIRY) as mine:
                won.append(mine.number)
                release.wait(60)
        except lease.LeaseHeldError:
            refused.append(1)

    threads = [threading.Thread(target=contend) for _ in range(5)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 60
    while len(won) + len(refused) < 5 and time.monotonic() < deadline:
        time.sleep(0.05)
    release.set()
    for thread in threads:
        thread.join(60)
    assert (won, len(refused)) == ([2], 4)


def test_a_holder_that_cannot_beat_gives_up_before_others_take_over(tmp_path, monkeypatch):
    lost = threading.Event()
    with lease.held(str(tmp_path), lost.set, BEAT, EXPIRY) as mine:

        def away(*_):
            raise StoreError("store: away.")

        monkeypatch.setattr(mine.store, "write_bytes", away)
        assert not lost.wait(EXPIRY / 2)
        assert lost.wait(60)
        monkeypatch.undo()


def test_a_holder_that_was_replaced_is_told(tmp_path):
    lost = threading.Event()
    with lease.held(str(tmp_path), lost.set, BEAT, EXPIRY) as mine:
        open_store(tmp_path).create_new("0000000009.json", b"{}")
        assert lost.wait(60)
    assert mine.number == 1
    assert open_store(tmp_path).read_bytes("0000000009.json") == b"{}"


def run(url, *options, code="print('ran')"):
    return lease.main([str(url), *options, "--", sys.executable, "-c", code])


def test_the_command_runs_and_its_exit_code_is_kept(tmp_path, capfd):
    assert run(tmp_path) == 0
    assert capfd.readouterr().out == "ran\n"
    assert run(tmp_path, code="raise SystemExit(7)") == 7
    assert run("s3://bad url/x") == 2
    assert lease.main([str(tmp_path), "--", "no-such-program"]) == 2
    assert "no-such-program" in capfd.readouterr().err


def test_a_second_night_says_so_and_runs_nothing(tmp_path, capfd):
    with lease.held(str(tmp_path), never, BEAT, EXPIRY):
        assert run(tmp_path) == 2
        assert run(tmp_path, "--skip") == 0
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.count("lease: nothing was run: lease ") == 2


def test_a_signal_reaches_the_command_and_frees_the_lease(tmp_path):
    code = "import time; print('up', flush=True); time.sleep(120)"
    words = [sys.executable, "-m", "pipelines.storage.lease", str(tmp_path), "--", sys.executable, "-c", code]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
    assert acquire(str(tmp_path), expiry=60).number == 2
