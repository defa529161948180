"""What a sweep of G2D2 would cost on devices that are not there, by a file of `bench/gpu.py` or the paper's figures."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from g2d2.methods import find_method
from operators import InputError
from operators.validation import validate
from pipelines.plan.cells import Cell

METHOD = "g2d2"
PAPER_SECONDS, PAPER_DECODER_CALLS = 194.0, 3000
"""Of one image at a time, on an A6000 or RTX 3090, as the paper prints it."""
LEAST_GAIN = 1.75
"""Times that this solver is faster than the published loop at full size on a CPU (docs/speed.md)."""


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    way: str
    batch: int
    prior_seconds: float
    decoder_seconds: float
    seconds_per_image: float
    low: float
    high: float


class _Bench(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    shape: str
    device: str
    rows: list[_Row]
    """Those that were measured."""


@dataclass(frozen=True)
class ClusterCost:
    """Device seconds of the items that are left, at least, about and at most, and where the figures come from."""

    low: float
    middle: float
    high: float
    source: str

    def facts(self, devices: int, price: float | None) -> dict[str, Any]:
        """Hours on so many devices, and money where an hour has a price, each [at least, about, at most]."""
        hours = [seconds / 3600 for seconds in (self.low, self.middle, self.high)]
        facts: dict[str, Any] = {
            "devices": devices, "device_hours": hours, "hours": [amount / devices for amount in hours],
            "source": self.source,
        }  # fmt: skip
        return facts if price is None else facts | {"money": [amount * price for amount in hours]}


def cluster_cost(cells: Sequence[Cell], items_left: int, bench: Path | None) -> ClusterCost:
    """The cost of the items that are left, each cell by its own calls of prior and decoder."""
    other = next((cell.method for cell in cells if cell.method != METHOD), None)
    if other is not None:
        raise InputError(f"bench: it holds figures of {METHOD} alone, and the sweep has an arm of {other}.")
    method = find_method(METHOD)
    works = [method.work(method.validated(cell.settings)) for cell in cells]
    each = items_left / len(cells)
    if bench is None:
        calls = sum(decoder for _, decoder in works) * each
        published = calls * PAPER_SECONDS / PAPER_DECODER_CALLS
        low = published / LEAST_GAIN
        return ClusterCost(
            low, (low + published) / 2, published,
            "the paper's 194 s an image, one at a time on an A6000 or RTX 3090, at most; no GPU was measured",
        )  # fmt: skip
    measured = _read(bench)
    row = min(measured.rows, key=lambda one: one.seconds_per_image)
    seconds = sum(prior * row.prior_seconds + decoder * row.decoder_seconds for prior, decoder in works)
    middle = seconds * each / row.batch
    low, high = (middle * end / row.seconds_per_image for end in (row.low, row.high))
    return ClusterCost(
        low, middle, high,
        f"{bench}: {measured.shape} on {measured.device}, {row.way} in batches of {row.batch}, random weights",
    )  # fmt: skip


def _read(path: Path) -> _Bench:
    try:
        content = json.loads(path.read_text())
        content["rows"] = [row for row in content["rows"] if row["error"] is None]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"bench: {path} cannot be read ({error}); `python -m bench.gpu` writes such a file.") from None
    bench: _Bench = validate(_Bench, content, where=f"bench {path}")
    if not bench.rows:
        raise InputError(f"bench: {path} has no row that was measured; its errors say why.")
    return bench


def parse_price(text: str) -> float:
    """Money for a device's hour, from `2.1` or `2.1/h`."""
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)(?:/h)?", text.strip())
    if matched is None:
        raise InputError(f"price: {text!r} is no price of a device's hour; write it as 2.1/h.")
    return float(matched[1])
