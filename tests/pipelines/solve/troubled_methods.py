"""Methods for tests of what surrounds them."""

import errno
import os
import sys
import time

from g2d2.methods.g2d2 import G2D2

SLOW_SECONDS = 6.0


class Slow(G2D2):
    """The real method after a long pause."""

    def restore(self, prior, batch, record):
        time.sleep(SLOW_SECONDS)
        return super().restore(prior, batch, record)


class FillsTheDisk(G2D2):
    """The real method, in whose process nothing can be written any more."""

    def restore(self, prior, batch, record):
        if "default_worker" in sys.argv[0]:  # never in the process of the tests
            os.fsync = no_space
        return super().restore(prior, batch, record)


def no_space(_descriptor):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
