"""What a paired comparison of a sweep allows to say: the same words on the terminal, in its report and in MLflow."""

from eval.metrics import MetricInfo
from eval.statistics import PairedResult

SIGNIFICANT = 0.05
"""A difference is one where its interval leaves out 0 and its corrected p is below this."""


def ahead(metric: MetricInfo, result: PairedResult) -> str | None:
    """`a` or `b`, whichever the interval of the difference favours; None where it holds 0 or nothing is better."""
    if metric.direction == "none" or not excludes_zero(result):
        return None
    return "a" if (result.difference.mean > 0) == (metric.direction == "higher") else "b"


def excludes_zero(result: PairedResult) -> bool:
    """Whether the interval of the difference leaves out 0."""
    gap = result.difference
    return gap.low is not None and gap.high is not None and not gap.low <= 0 <= gap.high


def significant(result: PairedResult) -> bool:
    return result.p_corrected is not None and result.p_corrected < SIGNIFICANT


def verdict(metric: MetricInfo, result: PairedResult, a: str, b: str, comparisons: int = 1) -> str:
    """`star better`; `leans to star (p >= 0.05)` where the interval alone says so; `no difference shown`.

    Where so few images cannot pass the correction over `comparisons`, a lean becomes `too few images to tell`.
    """
    which = ahead(metric, result)
    if which is None:
        return "no difference shown"
    name = a if which == "a" else b
    if significant(result):
        return f"{name} better"
    if result.difference.clusters < images_needed(comparisons):
        return "too few images to tell"
    return f"leans to {name} (p >= {SIGNIFICANT:g})"


def images_needed(comparisons: int) -> int:
    """How many images a sign-flip test needs so that the clearest difference passes Holm's correction.

    The test of n images gives at least 2 / 2^n, and the correction multiplies the smallest p by the comparisons.
    """
    return next(images for images in range(1, 1100) if comparisons * 2.0 ** (1 - images) < SIGNIFICANT)
