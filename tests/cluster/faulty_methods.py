"""Methods that break on purpose. What to break is a file in a folder that the test and its nodes know."""

import os
import signal
import sys
import time
from pathlib import Path

from g2d2.methods.g2d2 import G2D2
from operators import InputError

FOLDER = "G2D2_TEST_FAULTS"


def _planted(fault):
    """Only in Ray's workers: the driver imports methods too, to check their names."""
    file = Path(os.environ.get(FOLDER, "/nowhere")) / fault
    return file if "default_worker" in sys.argv[0] and file.exists() else None


if file := _planted("die-loading"):
    with file.open("a") as deaths:
        deaths.write(f"{os.getpid()}\n")
    os.kill(os.getpid(), signal.SIGKILL)

if _planted("refuse-loading"):
    raise InputError("weights: the disk of this node is full.")


class HangsOnOneRow(G2D2):
    """Never returns from a batch that holds the cell of the largest eta_kl, as far as `hang` has a line for it."""

    def restore(self, prior, batch, record):
        file = _planted("hang")
        if file and any(row.eta_kl == 0.1 for row in batch.settings):
            with file.open("a") as lines:
                lines.write(f"{os.getpid()} {len(batch)}\n")
            if len(file.read_text().splitlines()) <= _patience():
                time.sleep(3600)
        return super().restore(prior, batch, record)


def _patience():
    file = _planted("hangs")
    return int(file.read_text()) if file else 0


class DiesOnOneRow(G2D2):
    """Ends its process with the cell of the largest eta_kl, every time."""

    def restore(self, prior, batch, record):
        if _planted("die-solving") and any(row.eta_kl == 0.1 for row in batch.settings):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().restore(prior, batch, record)
