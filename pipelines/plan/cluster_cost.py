"""Seconds of G2D2 on devices that are not there, by a file of `bench/gpu.py` or by the paper's figures."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from g2d2.methods import find_method
from g2d2.priors.locating import locate_prior
from operators import InputError, find_signal
from operators.validation import validate
from pipelines.plan.cells import Cell
from pipelines.plan.item_seconds import ItemSeconds
from pipelines.plan.row_work import RowWork
from pipelines.plan.sweep_spec import Resources

METHOD = "g2d2"
PAPER_SECONDS, PAPER_DECODER_CALLS = 194.0, 3000
"""Of one image at a time, on an A6000 or RTX 3090, as the paper prints it."""
PAPER_SHAPE = (3, 256, 256)
_WAYS = {
    ("float32",): "eager",
    ("float32", "compile"): "compiled",
    ("float32", "channels_last"): "channels-last",
    ("float32", "compile: graphs"): "graphs",
    ("bfloat16",): "bf16",
    ("bfloat16", "compile"): "bf16-compiled",
    ("bfloat16", "compile: graphs"): "bf16-graphs",
}
"""By the resources of a sweep, what the bench calls such networks."""
LEAST_GAIN = 1.75
"""Times that this solver is faster than the published loop at full size on a CPU (docs/speed.md)."""


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    way: str
    batch: int = Field(ge=1)
    pass_seconds: float = Field(ge=0)
    """Of a batch once through the prior; with guidance it goes through twice a step."""
    decoder_seconds: float = Field(ge=0)
    seconds_per_image: float = Field(gt=0)
    low: float = Field(ge=0)
    high: float = Field(ge=0)


class Bench(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    shape: str
    x_shape: tuple[int, ...] = PAPER_SHAPE
    device: str
    rows: list[_Row]
    """Those that were measured."""


def paper_seconds(cells: Sequence[Cell]) -> ItemSeconds:
    """By the decoder's calls: the paper's seconds are the most."""
    most = PAPER_SECONDS / PAPER_DECODER_CALLS
    ends = (most / LEAST_GAIN, (most / LEAST_GAIN + most) / 2, most)
    works = _works(cells, "the paper's figures", {})
    by_cell = {cell: tuple(decoder * end for end in ends) for cell, (_, decoder) in works.items()}
    source = "the paper's 194 s an image, one at a time on an A6000 or RTX 3090, at most; no GPU was measured"
    return ItemSeconds(by_cell, source)  # type: ignore[arg-type]


def bench_seconds(
    cells: Sequence[Cell],
    bench: Path,
    resources: Resources,
    prompts: Mapping[str, str] | None = None,
    raced: int | None = None,
) -> ItemSeconds:
    """By the passes of the prior and the calls of the decoder, in the way and the batch that the sweep has.

    A faster way is named. `prompts` are those that tasks have: without one, some priors need no second pass. `raced`
    are the rows that a race solves together at most.
    """
    measured = read_bench(bench)
    row = _row_of(measured, resources, bench, raced)
    ends = [end / row.seconds_per_image for end in (row.low, row.seconds_per_image, row.high)]
    by_cell = {}
    for cell, (passes, decoder) in _works(cells, f"the figures of {bench}", prompts or {}).items():
        about = (passes * row.pass_seconds + decoder * row.decoder_seconds) / row.batch
        by_cell[cell] = tuple(about * end for end in ends)
    source = f"{bench}: {measured.shape} on {measured.device}, {row.way} in batches of {row.batch}, random weights"
    return ItemSeconds(by_cell, source + _advice(measured, row, resources, raced))  # type: ignore[arg-type]


def _row_of(measured: Bench, resources: Resources, bench: Path, raced: int | None) -> _Row:
    """The largest batch that was measured of those the sweep may have, in its way."""
    way = _WAYS.get((resources.dtype, *resources.variants))
    form = " with ".join([resources.dtype, *resources.variants])
    able = [row for row in measured.rows if row.way == way]
    if not able:
        had = ", ".join(dict.fromkeys(row.way for row in measured.rows))
        raise InputError(f"bench: {bench} has no row of {form}, in which the sweep runs; it has {had}.")
    most = resources.shard if resources.batch == "auto" else min(resources.batch, resources.shard)
    most = most if raced is None else min(most, raced)
    fitting = [row for row in able if row.batch <= most]
    if not fitting:
        least = min(row.batch for row in able)
        limits = "resources say (batch, shard)" if raced is None else "resources (batch, shard) and race.round say"
        raise InputError(
            f"bench: {bench} has no row of {form} in batches of at most {most}, as {limits}; the smallest has {least}."
        )
    return max(fitting, key=lambda row: row.batch)


def _advice(measured: Bench, row: _Row, resources: Resources, raced: int | None) -> str:
    """What resources would be faster, if any that a sweep can have were measured to be."""
    forms = {way: form for form, way in _WAYS.items()}
    best = min((one for one in measured.rows if one.way in forms), key=lambda one: one.seconds_per_image)
    if best.seconds_per_image >= row.seconds_per_image:
        return ""
    dtype, *variants = forms[best.way]
    words = [
        f"dtype: {dtype}",
        *(name if ":" in name else f"{name}: true" for name in variants),
        f"batch: {best.batch}",
    ]
    words += [f"shard: {best.batch}"] if best.batch > resources.shard else []
    words += [f"race.round x seeds: {best.batch}"] if raced is not None and best.batch > raced else []
    return f"; {', '.join(words)} would take {best.seconds_per_image / row.seconds_per_image:.2g} times as long"


def other_sizes(cells: Sequence[Cell], bench: Path | None) -> list[str]:
    """A sentence for each prior whose images are not of the size that was measured."""
    shape = PAPER_SHAPE if bench is None else read_bench(bench).x_shape
    priors = dict.fromkeys(cell.prior for cell in cells if cell.method == METHOD)
    facts = {name: locate_prior(name).facts() for name in priors}
    return [
        f"the figures are of images {find_signal('image').words(shape)}, and what prior {name} makes is "
        f"{find_signal(one.signal).words(one.x_shape)}: its cost may be far from them"
        for name, one in facts.items()
        if one.x_shape != shape
    ]


def _works(cells: Sequence[Cell], where: str, prompts: Mapping[str, str]) -> dict[str, tuple[float, ...]]:
    """Passes of the prior and calls of the decoder of each cell that the figures cover."""
    method, own = find_method(METHOD), [cell for cell in cells if cell.method == METHOD]
    work = RowWork.of(own, prompts)
    works = {cell.id: work.units(method, cell, method.validated(cell.settings)) for cell in own}
    if not works:
        names = ", ".join(dict.fromkeys(cell.method for cell in cells))
        raise InputError(
            f"bench: {where} are of {METHOD} alone, and the sweep has none of it but {names}; `--bench here` measures "
            "every method on this machine."
        )
    return works


def read_bench(path: Path) -> Bench:
    """The file's rows that were measured."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"bench: {path} cannot be read ({error.strerror}); it must be a file, here or paper."
        ) from None
    except ValueError:
        content = None
    rows = content.get("rows") if isinstance(content, dict) and content.get("bench") == "gpu" else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"bench: {path} is no file that `python -m bench.gpu` writes.")
    kept = [row for row in rows if row.get("error") is None]
    bench: Bench = validate(Bench, content | {"rows": kept}, where=f"bench {path}")
    if not bench.rows:
        raise InputError(f"bench: {path} has no row that was measured; its errors say why.")
    return bench


def parse_price(text: str) -> float:
    """Money for a device's hour, from `2.1` or `2.1/h`."""
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)(?:/h)?", text.strip(), re.ASCII)
    if matched is None or not math.isfinite(float(matched[1])):
        raise InputError(f"price: {text!r} is no price of a device's hour; write it as 2.1/h.")
    return float(matched[1])
