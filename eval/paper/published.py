"""The paper's tables of PSNR, LPIPS, SSIM, FID and KID, by data set, task and method."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from operators import InputError

CITATION = (
    "Naoki Murata, Chieh-Hsin Lai, Yuhta Takida, Toshimitsu Uesaka, Bac Nguyen, Stefano Ermon, Yuki Mitsufuji. "
    '"G2D2: Gradient-Guided Discrete Diffusion for Inverse Problem Solving." '
    "Transactions on Machine Learning Research, 2025. https://openreview.net/forum?id=fj23qnVifX"
)


@dataclass(frozen=True)
class PaperResult:
    """One number of a table: a mean over 1000 images."""

    dataset: str
    task: str
    method: str
    metric: str
    """psnr, lpips, ssim, fid or kid_x100; the paper does not say which network its LPIPS uses."""

    value: float


def paper_results(
    dataset: str | None = None, task: str | None = None, method: str | None = None, metric: str | None = None
) -> list[PaperResult]:
    """The printed results that match all the names given."""
    rows = list(_rows())
    for name, wanted in (("dataset", dataset), ("task", task), ("method", method), ("metric", metric)):
        known = list(dict.fromkeys(getattr(row, name) for row in _rows()))
        if wanted is not None and wanted not in known:
            raise InputError(f"{name}: {wanted!r} is not in the paper's tables; known are {', '.join(known)}.")
        rows = [row for row in rows if wanted is None or getattr(row, name) == wanted]
    return rows


@cache
def _rows() -> tuple[PaperResult, ...]:
    text = files("eval.paper").joinpath("tables.csv").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return tuple(
        PaperResult(row["dataset"], row["task"], row["method"], row["metric"], float(row["value"]))
        for row in csv.DictReader(lines)
    )
