"""Solvers that break on purpose. What to break is a file in a folder that the test and its nodes know."""

import os
import signal
import sys
import time
from pathlib import Path

from g2d2.solver import solve
from operators import InputError

FOLDER = "G2D2_TEST_FAULTS"


def _told(fault):
    """Only in Ray's workers: the driver imports solvers too, to check their names."""
    file = Path(os.environ.get(FOLDER, "/nowhere")) / fault
    return file if "default_worker" in sys.argv[0] and file.exists() else None


if file := _told("die-loading"):
    with file.open("a") as deaths:
        deaths.write(f"{os.getpid()}\n")
    os.kill(os.getpid(), signal.SIGKILL)

if _told("refuse-loading"):
    raise InputError("weights: the disk of this node is full.")


def hangs_on_one_row(prior, operator, y, settings, **options):
    """Never returns from a batch that holds the cell of the largest eta_kl, as far as `hang` has a line for it."""
    file = _told("hang")
    if file and any(row.eta_kl == 0.1 for row in settings):
        with file.open("a") as lines:
            lines.write(f"{os.getpid()} {len(settings)}\n")
        if len(file.read_text().splitlines()) <= _patience():
            time.sleep(3600)
    return solve(prior, operator, y, settings, **options)


def _patience():
    file = _told("hangs")
    return int(file.read_text()) if file else 0


def dies_on_one_row(prior, operator, y, settings, **options):
    """Ends its process with the cell of the largest eta_kl, every time."""
    if _told("die-solving") and any(row.eta_kl == 0.1 for row in settings):
        os.kill(os.getpid(), signal.SIGKILL)
    return solve(prior, operator, y, settings, **options)
