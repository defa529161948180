"""How many cases a fuzz test draws: the same ones every time, a few in `make test`, more in `make test-slow`."""

import pytest
from hypothesis import HealthCheck, example, given, settings


def amounts(quick, slow):
    """Runs a test twice over, with `examples` at both sizes; `quick` is None where nothing is quick enough."""
    sizes = [] if quick is None else [quick]
    marks = [pytest.mark.slow, pytest.mark.timeout(3600)]
    return pytest.mark.parametrize("examples", [*sizes, pytest.param(slow, marks=marks)])


def each_case(examples, strategy, check, also=()):
    """Call `check` with that many drawn cases, and with those in `also` before them."""
    test = given(strategy)(check)
    for one in also:
        test = example(one)(test)
    chosen = settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    chosen(test)()
