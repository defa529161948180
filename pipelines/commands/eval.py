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
from eval.distribution.motion_names import EMBEDDED
from eval.distribution.results import DistributionResult
from eval.metrics import (
    METRICS,
    MetricInfo,
    build_metric,
    metric_info,
    metric_names,
    metric_settings,
)
from eval.motion_evaluators import open_evaluator
from eval.pairing import Pairing, Read, pair_pictures
from eval.weights import find_weights
from operators import InputError, operator_settings
from operators.colours import Background
from operators.pictures import decode_image
from operators.torch_device import usable_device
from operators.validation import did_you_mean
from pipelines.console.motion_table import motion_json, print_motion_scores
from pipelines.console.options import add_background_option, parse_changes
from pipelines.console.progress import progress
from pipelines.console.text_table import text_table
from pipelines.manifest.motion_build_settings import MOTION
from pipelines.score.motion_folders import clip_infos, pair_infos, read_motions, score_clips, score_paths, score_sets
from pipelines.score.picture_scores import Row, score_pairs, summarize, write_scores

EXAMPLE = "g2d2 eval examples/pictures out/restored --metrics psnr ssim lpips_vgg"

_MOST_ROWS_SHOWN = 30
_MOST_NAMES_SHOWN = 10


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "truth", type=Path, metavar="TRUTH", help="picture, folder or Parquet file (id, image); of motions a folder of "
        ".npy or .bvh, a HumanML3D folder, or a Parquet of joints"
    )  # fmt: skip
    parser.add_argument(
        "reconstruction", type=Path, metavar="RECON", help="the same kind, with the same names; in Parquet also "
        "a column reconstruction"
    )  # fmt: skip
    parser.add_argument("--signal", choices=("image", MOTION), default="image", help="what is compared")
    per_image = [name for name in metric_names() if not _beyond_pictures(metric_info(name))]
    parser.add_argument(
        "--metrics",
        nargs="+",
        metavar="NAME",
        help=f"per image: {', '.join(per_image)}, or module:thing; per set: {', '.join(distribution_names('image'))} "
        "(default: psnr ssim lpips_vgg)",
    )
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="settings of metrics; of motions, "
        "those of the operator path that says at which key frames they are compared"
    )  # fmt: skip
    parser.add_argument(
        "--evaluator", default=EMBEDDED, metavar="NAME", help="motions: what embeds motions and texts: cmu (default), "
        "t2m:FOLDER for the evaluator of published tables, or module:thing"
    )  # fmt: skip
    parser.add_argument("--repeats", type=int, default=20, metavar="N", help="motions: draws of groups and pairs")
    parser.add_argument("--seed", type=int, default=0, help="motions: seed of key frames, groups and pairs")
    parser.add_argument("--fps", type=float, metavar="N", help="motions: frame rate, instead of what files say")
    parser.add_argument("--cut", action="store_true", help="motions: cut longer clips into parts of 196 frames")
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
        return _run_motion(args)
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


def _run_motion(args: argparse.Namespace) -> int:
    """Every number of motions that the two sources allow."""
    if args.metrics is not None:
        raise InputError("metrics: motions are scored with all that can be had; leave --metrics out.")
    if args.repeats < 1:
        raise InputError(f"repeats is {args.repeats}: it must be at least 1.")
    params = parse_changes(args.set, {"path": operator_settings("path")})["path"]
    evaluator = open_evaluator(args.evaluator)
    folders = {
        side: read_motions(str(source), args.fps, args.cut)
        for side, source in (("real", args.truth), ("generated", args.reconstruction))
    }
    real, generated = folders["real"], folders["generated"]
    rows = {side: score_clips(folder) for side, folder in folders.items()}
    pairs = score_paths(real, generated, params, args.seed)
    sets = score_sets(real, generated, evaluator, args.repeats, args.seed)
    sides = {side: (len(own), summarize(own, clip_infos())) for side, own in rows.items()}
    numbers = (sides, summarize(pairs, pair_infos()), len(pairs), sets)
    if args.json:
        print(json.dumps(motion_json(*numbers), indent=1))
    else:
        print_motion_scores(*numbers)
        for reason in sets.unavailable:
            print(f"without {reason}", file=sys.stderr)
    if args.out:
        by_name = {row.id: row for row in pairs}
        joined = [Row(row.id, row.values | by_name[row.id].values if row.id in by_name else row.values)
                  for row in rows["generated"]]  # fmt: skip
        write_scores(joined, [*clip_infos(), *pair_infos()], args.reconstruction.name, args.out)
    failed = [row for row in (*real.failed, *generated.failed, *pairs) if row.error]
    for row in failed:
        print(f"failed {row.error}", file=sys.stderr)
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
