"""Solvers for tests of what surrounds them."""

import time

from g2d2.solver import solve

SLOW_SECONDS = 6.0


def slow(*args, **options):
    """The real solver after a long pause."""
    time.sleep(SLOW_SECONDS)
    return solve(*args, **options)
