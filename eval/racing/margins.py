"""By how much a cell may be worse and still win a race, and the largest difference that a bet counts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Margin:
    """Both in the metric's own unit."""

    delta: float
    """A cell that is better by no more than this may be lost."""

    bound: float
    """Differences are clipped to plus and minus this."""


_DEFAULTS = {
    "psnr": Margin(0.05, 4.0),
    "ssim": Margin(0.002, 0.3),
    "lpips": Margin(0.003, 0.3),
    "path_error": Margin(0.01, 2.0),
}


def default_margin(metric: str) -> Margin | None:
    """Of a metric by its column; None where somebody has to say it. The LPIPS of every network share theirs."""
    return _DEFAULTS.get("lpips" if metric.startswith("lpips_") else metric)
