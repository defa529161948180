"""One runner at a time: a lease in a store, which a runner that dies loses by falling silent.

Each holding is an object of its own, numbered upwards. Who wants the lease creates the next number, which a store gives
to exactly one; the holder beats by rewriting its own. Nobody has to trust another machine's clock: a contender watches
whether the beat changes.
"""

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from operators import InputError
from pipelines.storage import MissingObjectError, Store, StoreError, open_store

BEAT_SECONDS = 15.0
EXPIRY_SECONDS = 120.0
"""Silence after which a holder is taken for dead. Longer than a store is usually away."""
_DIGITS = 10
_NAME = re.compile(rf"[0-9]{{{_DIGITS}}}\.json")


class LeaseHeldError(InputError):
    """Somebody else runs."""


@dataclass
class Lease:
    """A holding, from `acquire` on. Beat at least once in `EXPIRY_SECONDS`."""

    store: Store
    number: int
    holder: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}")
    beats: int = 0

    def beat(self) -> bool:
        """Show that the holder lives; False if the lease was taken over meanwhile."""
        if _newest(self.store) != self.number:
            return False
        self.beats += 1
        self._write(released=False)
        return True

    def release(self) -> None:
        """Let the next one in at once. The object stays, so that numbers never repeat."""
        if _newest(self.store) == self.number:
            self._write(released=True)

    def _write(self, released: bool) -> None:
        self.store.write_bytes(_name(self.number), _content(self.holder, self.beats, released))


def acquire(url: str, beat: float = BEAT_SECONDS, expiry: float = EXPIRY_SECONDS) -> Lease:
    """The lease at this URL; a LeaseHeldError as soon as its holder is seen alive.

    Where the last holder did not release it, this takes up to `expiry` seconds: so long it has to stay silent.
    """
    store = open_store(url)
    while True:
        number = _newest(store)
        if number is not None:
            _wait_for_silence(store, number, beat, expiry)
        lease = Lease(store, (number or 0) + 1)
        if store.create_new(_name(lease.number), _content(lease.holder, 0, released=False)):
            for older in _numbers(store):
                if older < lease.number:
                    store.delete(_name(older))
            return lease


def _wait_for_silence(store: Store, number: int, beat: float, expiry: float) -> None:
    """Return once this holding is released, gone or silent for `expiry` seconds."""
    first = _read(store, number)
    quiet_since = time.monotonic()
    while True:
        now = _read(store, number)
        if now is None or now["released"]:
            return
        if now != first:
            raise LeaseHeldError(f"lease {store.url()}: {now['holder']} holds it and is at work; wait until it ends.")
        if time.monotonic() - quiet_since >= expiry:
            return
        time.sleep(min(beat / 3, 1.0))


@contextmanager
def held(
    url: str, lost: Callable[[], None], beat: float = BEAT_SECONDS, expiry: float = EXPIRY_SECONDS
) -> Iterator[Lease]:
    """Hold the lease for a block, beating beside it; `lost` is called when it was taken or could not be kept up."""
    lease = acquire(url, beat, expiry)
    done = threading.Event()
    keeper = threading.Thread(target=_keep, args=(lease, done, lost, beat, expiry), daemon=True)
    keeper.start()
    try:
        yield lease
    finally:
        done.set()
        keeper.join()
        lease.release()


def _keep(lease: Lease, done: threading.Event, lost: Callable[[], None], beat: float, expiry: float) -> None:
    last = time.monotonic()
    while not done.wait(beat):
        try:
            kept = lease.beat()
        except StoreError:
            kept = time.monotonic() - last < expiry  # others may believe it dead from then on
        else:
            last = time.monotonic()
        if not kept:
            lost()
            return


def _newest(store: Store) -> int | None:
    return max(_numbers(store), default=None)


def _numbers(store: Store) -> list[int]:
    return [int(name.removesuffix(".json")) for name in store.list() if _NAME.fullmatch(name)]


def _name(number: int) -> str:
    return f"{number:0{_DIGITS}d}.json"


def _content(holder: str, beats: int, released: bool) -> bytes:
    return json.dumps({"holder": holder, "beats": beats, "released": released}).encode()


def _read(store: Store, number: int) -> dict[str, Any] | None:
    try:
        holding: dict[str, Any] = json.loads(store.read_bytes(_name(number)))
    except MissingObjectError:
        return None
    except ValueError:  # half-written, on a file system without hard links
        return {"holder": "somebody", "beats": -1, "released": False}
    return holding


def main(argv: Sequence[str] | None = None) -> int:
    """The command's exit code; 2 if the lease is held by another, or 0 with `--skip`."""
    parser = argparse.ArgumentParser(
        prog="python -m pipelines.storage.lease",
        description="Run a command unless another holder of the same lease does.",
        epilog="example:\n  python -m pipelines.storage.lease s3://bucket/nightly --skip -- g2d2 nightly spec.yaml",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("url", help="folder or s3:// URL of the lease")
    parser.add_argument("--skip", action="store_true", help="exit with 0 instead of 2 if another one runs")
    parser.add_argument("words", nargs="+", metavar="COMMAND", help="what to run, after --")
    args = parser.parse_args(argv)
    running: list[subprocess.Popen[bytes]] = []
    taken = threading.Event()

    def lost() -> None:
        taken.set()
        for process in running:
            process.send_signal(signal.SIGINT)  # commands keep what is finished then

    try:
        with held(args.url, lost):
            running.append(subprocess.Popen(args.words))
            code = _wait(running[0])
    except LeaseHeldError as error:
        print(f"lease: nothing was run: {error}", file=sys.stderr)
        return 0 if args.skip else 2
    except (InputError, OSError) as error:
        print(f"lease: {error}", file=sys.stderr)
        return 2
    if taken.is_set():
        print(f"lease: it was lost, and {args.words[0]} ended; what is finished is kept.", file=sys.stderr)
        return 2
    return code


def _wait(process: subprocess.Popen[bytes]) -> int:
    """The exit code; a signal to this process is passed on, and the lease released after the command has ended."""
    previous = {number: signal.signal(number, lambda n, _: process.send_signal(n)) for number in _PASSED_ON}
    try:
        code = process.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


_PASSED_ON = (signal.SIGTERM, signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main())
