"""`g2d2 eval`: compare reconstructions with their ground truths, without Ray."""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, create_model
from torch import Tensor

from eval.distribution import build_distribution, distribution_names, distribution_settings
from eval.distribution.results import DistributionResult
from eval.metrics import (
    METRICS,
    MetricInfo,
    build_metric,
    metric_info,
    metric_names,
    metric_settings,
)
from eval.pairing import Pairing, Read, pair_pictures
from eval.weights import find_weights
from operators import InputError
from operators.colours import Background
from operators.pictures import decode_image
from operators.torch_device import usable_device
from operators.validation import did_you_mean
from pipelines.commands.motion_eval import configure_motion, run_motion
from pipelines.console.options import add_background_option, parse_changes
from pipelines.console.progress import progress
from pipelines.console.text_table import text_table
from pipelines.manifest.motion_build_settings import MOTION
from pipelines.score.picture_scores import Row, score_pairs, summarize, write_scores

EXAMPLE = "g2d2 eval examples/pictures out/restored --metrics psnr ssim lpips_vgg"

_MOST_ROWS_SHOWN = 30
_MOST_NAMES_SHOWN = 10


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "truth", metavar="TRUTH", help="picture, folder or Parquet file (id, image); of motions a folder of "
        ".npy or .bvh, a HumanML3D folder, or a Parquet of joints"
    )  # fmt: skip
    parser.add_argument(
        "reconstruction", nargs="?", metavar="RECON", help="the same kind, with the same names; in Parquet also "
        "a column reconstruction; of motions also a sweep's output"
    )  # fmt: skip
    parser.add_argument("--signal", choices=("image", MOTION), default="image", help="what is compared")
    per_image = [name for name in metric_names() if not _beyond_pictures(metric_info(name))]
    parser.add_argument(
        "--metrics",
        nargs="+",
        metavar="NAME",
        help=f"per image: {', '.join(per_image)}, or module:thing; per set: {', '.join(distribution_names('image'))} "
        "(default: psnr ssim lpips_vgg); of motions those of docs/motion.md (default: all)",
    )
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="settings of metrics; of motions, "
        "those of the operator path that says at which key frames they are compared"
    )  # fmt: skip
    configure_motion(parser)
    add_background_option(parser)
    parser.add_argument("--batch", type=int, default=32, metavar="N", help="pictures at once (default: 32)")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="torch device")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write the scores of each picture to this Parquet file"
    )


def run(args: argparse.Namespace) -> int:
    """Exit code 0 if everything was scored, 1 if a picture or a metric was not."""
    if args.signal == MOTION:
        return run_motion(args)
    if args.reconstruction is None:
        raise InputError(f"RECON is missing: give what {args.truth} is the truth of.")
    only = {f"--{name}": getattr(args, name) for name in ("measurements", "task", "cell", "split", "fps")}
    if given := [option for option, value in only.items() if value is not None]:
        raise InputError(f"{given[0]}: it says nothing about pictures; leave it out, or give --signal motion.")
    args.truth, args.reconstruction = Path(args.truth), Path(args.reconstruction)
    if args.batch < 1:
        raise InputError(f"batch is {args.batch}: it must be at least 1.")
    usable_device(args.device)
    names = _chosen(args.metrics)
    per_image = [name for name in names if name not in distribution_names("image")]
    infos, settings = [metric_info(name) for name in per_image], _settings(names, args.set)
    pairing = pair_pictures(args.truth, args.reconstruction)
    metrics = [build_metric(name, settings[name], device=args.device) for name in per_image]
    sets = [
        build_distribution(name, settings[name], device=args.device)
        for name in names
        if name in distribution_names("image")
    ]
    decode = partial(_decode, background=args.background)
    rows: list[Row] = []
    with progress(len(pairing.pairs), "scored") as bar:
        for batch in score_pairs(pairing.pairs, metrics, args.batch, decode):
            rows += batch
            bar.update(len(batch))
    readable = [pair for pair, row in zip(pairing.pairs, rows, strict=True) if row.error is None or row.values]
    distances = [
        distribution.score(
            None if distribution.reference else (decode(pair.truth, pair.id) for pair in readable),
            (decode(pair.reconstruction, pair.id) for pair in readable),
        )
        for distribution in sets
    ]
    if args.out:
        write_scores(rows, infos, args.reconstruction.name, args.out)
    summary = summarize(rows, infos)
    if args.json:
        print(json.dumps(_json(rows, summary, distances, pairing), indent=1))
    else:
        _print(rows, summary, distances)
    _report_unpaired(pairing)
    failed = any(row.error for row in rows) or pairing.only_truth or any(d.value is None for d in distances)
    return 1 if failed else 0


def _chosen(given: Sequence[str] | None) -> list[str]:
    if given is None:
        return _default_metrics()
    known = [*metric_names(), *distribution_names("image")]
    for name in given:
        if name in distribution_names("image"):
            continue
        if not METRICS.known(name):
            raise InputError(
                f"metrics: {name!r} is unknown{did_you_mean(name, known)}; choose from {', '.join(known)}, or name "
                "module:thing for one of your own."
            )
        if _beyond_pictures(metric_info(name)):
            raise InputError(f"metrics: {name!r} needs the measurement, which pictures do not have; choose another.")
    return list(dict.fromkeys(given))


def _beyond_pictures(info: MetricInfo) -> bool:
    """Whether a metric needs more than two pictures."""
    return bool({*info.needs} - {"truth"}) or (info.signals is not None and "image" not in info.signals)


def _default_metrics() -> list[str]:
    try:
        find_weights("vgg16")
    except InputError as error:
        print(f"without lpips_vgg: {error}", file=sys.stderr)
        return ["psnr", "ssim"]
    return ["psnr", "ssim", "lpips_vgg"]


def _settings(names: Sequence[str], words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What `--set` says to each metric: a key goes to every chosen metric that knows it."""
    models: dict[str, type[BaseModel]] = {
        name: distribution_settings(name) if name in distribution_names("image") else metric_settings(name)
        for name in names
    }
    fields: dict[str, Any] = {
        key: (info.annotation, info) for model in models.values() for key, info in model.model_fields.items()
    }
    given = parse_changes(words, {"the chosen metrics": create_model("Chosen", **fields)})["the chosen metrics"]
    return {
        name: {key: value for key, value in given.items() if key in model.model_fields}
        for name, model in models.items()
    }


def _decode(read: Read, name: str, background: Background | None) -> Tensor:
    content = read()
    if content is None:
        raise InputError(f"image {name}: the table has none.")
    return decode_image(content, name, background=background)


def _json(
    rows: Sequence[Row], summary: list[dict[str, Any]], distances: Sequence[DistributionResult], pairing: Pairing
) -> dict[str, Any]:
    return {
        "rows": [
            {"id": row.id, "error": row.error, **{name: _number(value) for name, value in row.values.items()}}
            for row in rows
        ],
        "summary": summary,
        "distributions": [distance.model_dump(exclude_none=True) for distance in distances],
        "only_truth": pairing.only_truth,
        "only_reconstruction": pairing.only_reconstruction,
    }


def _number(value: float) -> float | str | None:
    """JSON has neither NaN nor infinity."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def _print(rows: Sequence[Row], summary: Sequence[dict[str, Any]], distances: Sequence[DistributionResult]) -> None:
    names = [entry["metric"] for entry in summary]
    if len(rows) <= _MOST_ROWS_SHOWN and names:
        lines = [[row.id, *(_cell(row.values.get(name, math.nan)) for name in names)] for row in rows]
        print(text_table(lines, ["image", *names]) + "\n")
    if names:
        header = ["metric", "mean", "95 % interval", "better", "scored", "infinite", "failed"]
        print(text_table([_line(entry) for entry in summary], header))
    for distance in distances:
        value = "-" if distance.value is None else f"{distance.value:.4f}"
        print(f"{distance.name}  {value}  {distance.unavailable or distance.note or ''}".rstrip())
    for row in rows:
        if row.error:
            print(f"failed {row.id}: {row.error}", file=sys.stderr)


def _line(entry: dict[str, Any]) -> list[str]:
    interval = "-" if entry["low"] is None else f"{_cell(entry['low'])} to {_cell(entry['high'])}"
    mean = "-" if entry["mean"] is None else f"{_cell(entry['mean'])} {entry['unit']}".rstrip()
    return [entry["metric"], mean, interval, entry["better"], *(str(entry[n]) for n in ("count", "infinite", "failed"))]


def _cell(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def _report_unpaired(pairing: Pairing) -> None:
    for names, what in (
        (pairing.only_truth, "ground truths without a reconstruction"),
        (pairing.only_reconstruction, "reconstructions without a ground truth"),
    ):
        if names:
            more = ", ..." if len(names) > _MOST_NAMES_SHOWN else ""
            shown = ", ".join(names[:_MOST_NAMES_SHOWN])
            print(f"not scored, {what} ({len(names)}): {shown}{more}", file=sys.stderr)
