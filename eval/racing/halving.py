"""Successive halving: a race of a fixed cost. (Jamieson and Talwalkar, AISTATS 2016.)"""

import math

from operators import InputError


def halving_rounds(cells: int, measurements: int, budget: float) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Measurements seen after each round, and cells that stay after it: every round costs the same share."""
    rounds = max(1, math.ceil(math.log2(cells)))
    share = budget * cells * measurements / rounds
    racing = [math.ceil(cells / 2**index) for index in range(rounds + 1)]
    steps = [int(share / count) for count in racing[:-1]]
    if min(steps) < 1:
        least = cells * rounds / (cells * measurements)
        raise InputError(
            f"race.budget: {budget:g} of {cells} cells on {measurements} measurements is less than one measurement "
            f"each in {rounds} rounds; it must be at least {least:.2g}, or there must be more measurements."
        )
    ends = [min(measurements, sum(steps[: index + 1])) for index in range(rounds)]
    return tuple(ends), (*racing[1:-1], 1)
