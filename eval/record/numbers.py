"""How numbers are written: the same digits on the terminal, in pages, tables and figures."""

import math
from collections.abc import Iterable

from eval.statistics import Interval


def shown(value: float | int | None, digits: int = 4) -> str:
    """Significant digits without an exponent where that is readable; nothing for what is not there."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "" if value is None else "-"
    if isinstance(value, int):
        return str(value)
    if value and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.{max(0, digits - 2)}e}"
    decimals = digits - 1 - (math.floor(math.log10(abs(value))) if value else 0)
    return f"{value:.{min(max(decimals, 0), digits)}f}"


def p_shown(p: float | None) -> str:
    """Two significant digits, or `< 0.001`: resampling knows no smaller one well, and none is ever 0."""
    if p is None:
        return ""
    return "< 0.001" if p < 0.001 else f"{p:#.2g}"


def spread(interval: Interval) -> str:
    """`[low, high]`; nothing where there is no interval."""
    if interval.low is None or interval.high is None:
        return ""
    return f"[{shown(interval.low)}, {shown(interval.high)}]"


def finite(value: float | None) -> float | None:
    """For JSON, which knows neither NaN nor infinity; seven digits are more than any chart shows."""
    return float(f"{value:.7g}") if value is not None and math.isfinite(value) else None


def mean_words(interval: Interval, sign: bool = False) -> str:
    """`24.37 [23.91, 24.83]`, with a + before what is gained where a sign is asked for."""
    plus = "+" if sign and interval.mean > 0 else ""
    return f"{plus}{shown(interval.mean)} {spread(interval)}".strip()


def is_log(values: Iterable[float | None]) -> bool:
    """Whether positive values span so much that only a logarithm shows all of them."""
    known = [value for value in values if value is not None]
    return len(known) > 1 and min(known) > 0 and max(known) >= 9 * min(known)
