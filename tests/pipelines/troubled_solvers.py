"""Solvers for tests of what surrounds them."""

import errno
import os
import sys
import time

from g2d2.solver import solve

SLOW_SECONDS = 6.0


def slow(*args, **options):
    """The real solver after a long pause."""
    time.sleep(SLOW_SECONDS)
    return solve(*args, **options)


def fills_the_disk(*args, **options):
    """The real solver, in whose process nothing can be written any more."""
    if "default_worker" in sys.argv[0]:  # never in the process of the tests
        os.fsync = no_space
    return solve(*args, **options)


def no_space(_descriptor):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
