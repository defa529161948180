"""What reaches a terminal: results alone on stdout, and stderr without a line nobody can act on.

Libraries and servers print too, from threads and straight to the descriptors, so both are turned there.
"""

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from pipelines.solve import own_ray

STDOUT, STDERR = 1, 2


@contextmanager
def results_alone() -> Iterator[None]:
    """Send to stderr whatever is printed meanwhile, by Python, by Ray's C++ side or by processes started here.

    A Ray that is joined or started meanwhile is left at the end: its threads report dead workers on stdout, at any
    later time.
    """
    if sys.stdout is None:  # closed by the caller, and the descriptor may be anything
        yield
        return
    sys.stdout.flush()
    joined = ray_is_joined()
    with _turned(STDOUT, STDERR), redirect_stdout(sys.stderr):
        try:
            yield
        finally:
            if not joined and ray_is_joined():
                own_ray.leave()


@contextmanager
def without_lines(phrase: str) -> Iterator[None]:
    """Hold back what is written to stderr meanwhile, then pass it on without the lines that hold `phrase`."""
    if sys.stderr is None:
        yield
        return
    sys.stderr.flush()
    with tempfile.TemporaryFile() as held:
        try:
            with _turned(STDERR, held.fileno()):
                yield
        finally:
            held.seek(0)
            for line in held:
                if phrase.encode() not in line:
                    os.write(STDERR, line)


def command(name: str) -> str:
    """How to call a command of this environment here: by its name where the shell finds it, else by its path."""
    beside = Path(sys.executable).with_name(name)
    on_path = shutil.which(name)
    return name if not beside.exists() or (on_path and Path(on_path).samefile(beside)) else shlex.quote(str(beside))


def ray_is_joined() -> bool:
    """Whether this process is connected to a Ray; asking imports nothing."""
    ray = sys.modules.get("ray")
    return ray is not None and bool(ray.is_initialized())


@contextmanager
def _turned(descriptor: int, target: int) -> Iterator[None]:
    """One descriptor means another for a while."""
    kept = os.dup(descriptor)
    os.dup2(target, descriptor)
    try:
        yield
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)
