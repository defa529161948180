"""Successive halving: a race of a fixed cost. (Jamieson and Talwalkar, AISTATS 2016.)"""

import math
from itertools import accumulate

from operators import InputError

_HALVINGS = 60
"""Steps of the search for a round's share: more than a float has digits."""


def halving_rounds(cells: int, measurements: int, budget: float) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Measurements seen after each round, and cells that stay after it: every round costs the same share.

    A late round of few cells may have none left to see; what it cannot spend goes to the others.
    """
    rounds = max(1, math.ceil(math.log2(cells)))
    racing = [math.ceil(cells / 2**index) for index in range(rounds)]
    whole = budget * cells * measurements
    share, most = whole / rounds, float(cells * measurements)
    if share < cells:
        least = cells * rounds / (cells * measurements)
        raise InputError(
            f"race.budget: {budget:g} of {cells} cells on {measurements} measurements is less than one measurement "
            f"each in {rounds} rounds; it must be at least {least:.2g}, or there must be more measurements."
        )
    for _ in range(_HALVINGS):
        middle = (share + most) / 2
        if _cost(racing, _ends(racing, measurements, middle)) <= whole:
            share = middle
        else:
            most = middle
    ends = _filled_up(racing, _ends(racing, measurements, share), measurements, whole)
    return tuple(ends), (*racing[1:], 1)


def _ends(racing: list[int], measurements: int, share: float) -> list[int]:
    """Where rounds end that cost a share each, as far as there are measurements."""
    return [min(measurements, int(seen)) for seen in accumulate(share / count for count in racing)]


def _cost(racing: list[int], ends: list[int]) -> int:
    return sum(count * (end - begin) for count, begin, end in zip(racing, [0, *ends], ends, strict=False))


def _filled_up(racing: list[int], ends: list[int], measurements: int, whole: float) -> list[int]:
    """With what whole measurements of all rounds leave over, the earlier rounds first."""
    for place in range(len(ends)):
        limit = ends[place + 1] if place + 1 < len(ends) else measurements
        while ends[place] < limit:
            more = [*ends[:place], ends[place] + 1, *ends[place + 1 :]]
            if _cost(racing, more) > whole:
                break
            ends = more
    return ends
