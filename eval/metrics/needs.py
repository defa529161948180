"""What metrics need before they can score: weights on this machine, a signal they know, truths, large enough images."""

from collections.abc import Collection, Iterable, Sequence

from eval.metrics.info import COSTS, MetricInfo
from eval.metrics.registry import METRICS, metric_info
from eval.weights import find_weights
from operators import InputError
from operators.plurals import counted


def check_metrics(
    names: Iterable[str],
    *,
    signal: str | None = None,
    x_shape: Sequence[int] | None = None,
    truths_missing: int = 0,
    total: int = 0,
    columns: Collection[str] = (),
) -> list[str]:
    """Refuse metrics that cannot score such rows here; warnings name those that some rows will lack.

    Nothing is loaded or downloaded. `truths_missing` of `total` measurements have no truth; `columns` are names that
    no metric may take, such as settings. What is not given is not checked.
    """
    warnings: list[str] = []
    taken: dict[str, str] = {}
    for name in names:
        info = metric_info(name)
        _check_column(name, info, taken, columns)
        _check_signal(name, info, signal, x_shape)
        if "truth" in info.needs and truths_missing:
            missing = f"metrics: {name} needs the ground truth, and {truths_missing} of "
            if truths_missing >= total:
                known = (metric_info(one) for one in METRICS.homes)
                others = ", ".join(
                    one.name for one in known if "truth" not in one.needs and one.scores(signal or "image")
                )
                raise InputError(
                    f"{missing}{counted(total, 'measurement')} have none; leave it out, or score with what needs "
                    f"none, such as {others}."
                )
            warnings.append(f"{missing}{counted(total, 'measurement')} have none: they will have no {info.name}")
        _check_weights(name, info)
    return warnings


def _check_column(name: str, info: MetricInfo, taken: dict[str, str], columns: Collection[str]) -> None:
    if info.name in taken:
        raise InputError(
            f"metrics: {taken[info.name]} and {name} are both called {info.name!r}, and each needs a column of its "
            "own; rename one."
        )
    own = METRICS.homes.get(info.name)
    if info.name in COSTS or info.name in columns or (own is not None and name != info.name):
        raise InputError(f"metrics: {name} is called {info.name!r}, which is the name of another column; rename it.")
    taken[info.name] = name


def _check_signal(name: str, info: MetricInfo, signal: str | None, x_shape: Sequence[int] | None) -> None:
    if signal is not None and info.signals is not None and not info.scores(signal):
        raise InputError(
            f"metrics: {name} scores the signal {' or '.join(info.signals)}, and these measurements are of {signal}; "
            "leave it out."
        )
    if signal in (None, "image") and x_shape is not None and min(x_shape[1:]) < info.least_side:
        _, height, width = x_shape
        raise InputError(
            f"metrics: {name} needs images of at least {info.least_side}x{info.least_side} pixels, and these are "
            f"{width}x{height}; leave it out."
        )


def _check_weights(name: str, info: MetricInfo) -> None:
    if info.backbone is None:
        return
    try:
        find_weights(info.backbone)
    except InputError as error:
        raise InputError(f"metrics: {name} cannot be measured here ({str(error).rstrip('.')}).") from None
