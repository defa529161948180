"""`g2d2 solve`: restore a few pictures on this machine, without Ray."""

import argparse
import io
import json
import math
import sys
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from pydantic import BaseModel
from torch import Tensor

from g2d2.priors.base import Prior
from g2d2.priors.digest import prior_digest
from g2d2.priors.locating import locate_prior
from g2d2.priors.tuned import tuned_settings
from g2d2.settings import EXPERIMENTS, PRESETS, G2D2Settings, Precision, solver_settings
from g2d2.solver import Reconstruction, solve
from g2d2.version import SOLVER_VERSION
from operators import InputError, Operator, check_measurement, measure, operator_settings, stack_operators
from pipelines.images import (
    decode_stored,
    encode_png,
    panel,
    read_image,
    read_measurement,
    to_picture,
    write_bytes,
    write_npy,
    write_png,
)
from pipelines.options import (
    Degradation,
    add_measurement_options,
    degradation,
    item_seed,
    parse_changes,
    report_refused,
    unique_stems,
)
from pipelines.progress import Progress, progress

EXAMPLE = "g2d2 solve photo.png --task sr4-256 --prior ithq --prompt 'a photo of a dog' --set eta_kl=0.0003 --out out/"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("images", nargs="+", type=Path, metavar="IMAGE", help="pictures, or .npy files with --measured")
    add_measurement_options(parser)
    parser.add_argument("--prior", required=True, metavar="FOLDER_OR_NAME", help="folder, known name or hub id")
    parser.add_argument("--measured", action="store_true", help="the inputs are measurements stored by `g2d2 measure`")
    parser.add_argument("--prompt", default="", help="text prompt for all pictures (default: empty)")
    parser.add_argument(
        "--preset",
        choices=["tuned", *PRESETS],
        help="base of all settings (default: tuned for the prior where it ships such settings, else paper)",
    )
    parser.add_argument(
        "--experiment", metavar="NAME", help=f"row of the paper's table: {', '.join(EXPERIMENTS['paper'])}"
    )
    parser.add_argument("--process", choices=["star", "markov"], help="noise process (default: the preset's)")
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="solver or operator settings"
    )
    parser.add_argument("--batch", type=int, default=8, help="pictures solved together (default: 8)")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="torch device")
    parser.add_argument("--dtype", default="float32", choices=get_args(Precision), help="precision of the networks")
    parser.add_argument(
        "--record", nargs="+", type=int, default=[], metavar="T", help="steps t whose prior sample is kept"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per picture")
    parser.add_argument("--again", action="store_true", help="solve again what is already there")


@dataclass(frozen=True)
class Item:
    """One measurement to restore."""

    stem: str
    truth: Tensor | None
    y: Tensor
    operator: Operator
    seed: int
    key: str
    """Digest of everything that decides the result."""


def run(args: argparse.Namespace) -> int:
    """Restores in batches; a finished picture is never solved twice, so an interrupted run goes on where it was."""
    from g2d2.priors import load_prior  # with the model libraries, which the options do without

    if args.batch < 1:
        raise InputError(f"batch: {args.batch} must be at least 1.")
    stems = unique_stems(args.images)
    degrade, settings = _choices(args)
    digest = prior_digest(locate_prior(args.prior))
    prior = load_prior(args.prior, device=args.device, dtype=args.dtype, digest=digest)
    prior.schedule.levels(settings.steps)
    for t in args.record:
        if not 1 <= t <= settings.steps:
            raise InputError(f"record: {t} is not a step between 1 and {settings.steps}.")
    items, refused = _items(args, stems, degrade, settings, prior.image_shape, digest)
    code = report_refused("solve", refused, len(stems))
    if not items:
        return code
    done = {item.stem: record for item in items if not args.again and (record := _finished(item, args.out)) is not None}
    todo = [item for item in items if item.stem not in done]
    args.out.mkdir(parents=True, exist_ok=True)
    if done:
        _say(args, f"{len(done)} of {len(items)} are there already; --again solves them again")
    for record in done.values() if args.json else ():
        _report(args, record)
    with progress(len(todo) * settings.steps, "solving") as bar:
        for start in range(0, len(todo), args.batch):
            batch = todo[start : start + args.batch]
            result = _solve_batch(args, prior, settings, batch, bar)
            for row, item in enumerate(batch):
                fault = result.fault(row)
                if fault is None:
                    _report(args, _write(item, row, result, degrade, args.out))
                else:
                    print(f"g2d2 solve: {item.stem}: {fault}", file=sys.stderr)
                    code = 1
    return code


def _solve_batch(
    args: argparse.Namespace,
    prior: Prior,
    settings: G2D2Settings,
    batch: list[Item],
    bar: Progress,
) -> Reconstruction:
    return solve(
        prior,
        stack_operators([item.operator for item in batch]),
        torch.stack([item.y for item in batch]),
        settings,
        prompts=args.prompt,
        seeds=[item.seed for item in batch],
        prior_samples_at=args.record,
        on_step=lambda _done, _steps: bar.update(len(batch)),
    )


def _choices(args: argparse.Namespace) -> tuple[Degradation, G2D2Settings]:
    plain = degradation(args, {})
    models: dict[str, type[BaseModel]] = {"solver": G2D2Settings, plain.operator: operator_settings(plain.operator)}
    changes = parse_changes(args.set, models)
    return degradation(args, changes[plain.operator]), _settings(args, changes["solver"])


def _settings(args: argparse.Namespace, changes: dict[str, Any]) -> G2D2Settings:
    """An experiment's row is a change to the paper's preset, so naming one chooses that."""
    preset, tuned = args.preset, None
    if preset in (None, "tuned"):
        tuned = tuned_settings(locate_prior(args.prior))
        preset = preset or ("paper" if tuned is None or args.experiment else "tuned")
    if preset != "tuned":
        process = {"process": args.process} if args.process else {}
        return solver_settings(preset, args.experiment, **changes | process)
    if tuned is None or args.experiment:
        raise InputError(
            f"preset: 'tuned' stands alone and needs settings that ship with the prior; {str(args.prior)!r} "
            f"{'has none' if tuned is None else 'has them, but --experiment was given too'}."
        )
    return tuned.settings(args.task, args.process or changes.pop("process", None), **changes)


def _items(
    args: argparse.Namespace,
    stems: dict[str, Path],
    degrade: Degradation,
    settings: G2D2Settings,
    image_shape: tuple[int, int, int],
    digest: str,
) -> tuple[list[Item], list[InputError]]:
    """What can be restored, and why the rest cannot: a bad input costs no other."""
    shared = degrade.build(image_shape)
    items: list[Item] = []
    refused: list[InputError] = []
    for stem, path in stems.items():
        operator = degrade.build(image_shape, item_seed(args.seed, stem)) if degrade.own_seed else shared
        try:
            items.append(_item(args, stem, path, degrade, settings, operator, digest))
        except InputError as error:
            refused.append(error)
    return items, refused


def _item(
    args: argparse.Namespace,
    stem: str,
    path: Path,
    degrade: Degradation,
    settings: G2D2Settings,
    operator: Operator,
    digest: str,
) -> Item:
    seed = item_seed(args.seed, stem)
    if args.measured:
        truth, y = None, read_measurement(path, operator.measurement_shape)
        if degrade.own_seed and not torch.equal(operator.mask_noise(y[None])[0], y):
            raise InputError(
                f"measurement {path}: it holds pixels that its mask lacks, which follows from --seed and the file's "
                f"name; give it the seed and the name that it was measured with, or the mask's by --set seed=N."
            )
    else:
        channels, *size = operator.image_shape
        truth = read_image(path, (size[0], size[1]), resize=args.resize, background=args.background, grey=channels == 1)
        y = measure(operator, truth.unsqueeze(0), sigma=degrade.sigma, seeds=[seed])[0]
        check_measurement(operator, y[None])
    decides = [
        SOLVER_VERSION, settings.model_dump(), degrade.operator, degrade.params, degrade.sigma, args.prompt,
        digest, args.dtype, seed, args.record, blake2b(y.numpy().tobytes()).hexdigest(),
    ]  # fmt: skip
    return Item(stem, truth, y, operator, seed, blake2b(json.dumps(decides).encode(), digest_size=16).hexdigest())


def _finished(item: Item, out: Path) -> dict[str, Any] | None:
    """The summary of a picture that is solved already; None where it is not, or was another's work."""
    try:
        record: dict[str, Any] = json.loads((out / f"{item.stem}.json").read_text())
        return record if record["key"] == item.key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(item: Item, row: int, result: Reconstruction, degrade: Degradation, out: Path) -> dict[str, Any]:
    """Reconstruction, panel, measurement and trace, then the summary that marks the picture as done."""
    picture = encode_png(to_picture(result.images[row]))
    image = decode_stored(picture, item.stem)  # numbers are those of the picture that is kept, as in a sweep
    write_bytes(picture, out / f"{item.stem}.png")
    shown = ([] if item.truth is None else [item.truth]) + [item.y, image]
    write_png(panel(shown), out / f"{item.stem}-panel.png")
    write_npy(item.y, out / f"{item.stem}-measurement.npy")
    trace = io.BytesIO()
    np.savez_compressed(trace, **result.trace.row(row))
    write_bytes(trace.getvalue(), out / f"{item.stem}-trace.npz")
    samples = [images[row] for _, images in sorted(result.trace.prior_samples.items(), reverse=True)]
    if samples:
        write_png(panel(samples), out / f"{item.stem}-prior-samples.png")
    residual = torch.linalg.vector_norm(item.operator(image.unsqueeze(0))[0] - item.y)
    summary: dict[str, Any] = {
        "image": item.stem,
        "reconstruction": str(out / f"{item.stem}.png"),
        "residual": float(residual),
        "expected_residual": degrade.sigma * item.operator.measurement_count**0.5,
        "seconds": result.trace.row_costs(row)["seconds"],
        "key": item.key,
    }
    if item.truth is not None:
        error = (image - item.truth).square().mean() / 4  # both on [0, 1]
        summary["psnr"] = float(-10 * torch.log10(error))
    write_bytes(json.dumps(summary, indent=1).encode(), out / f"{item.stem}.json")
    return summary


def _report(args: argparse.Namespace, summary: dict[str, Any]) -> None:
    if args.json:
        print(json.dumps(summary), flush=True)
        return
    psnr = f"PSNR {summary['psnr']:.2f} dB  " if "psnr" in summary else ""
    ratio = summary["residual"] / summary["expected_residual"] if summary["expected_residual"] else math.nan
    fit = f"residual {ratio:.2f} (1: noise alone)" if math.isfinite(ratio) else f"residual {summary['residual']:.2g}"
    print(f"{summary['reconstruction']}  {psnr}{fit}  {summary['seconds']:.1f} s", flush=True)


def _say(args: argparse.Namespace, sentence: str) -> None:
    if not args.json:
        print(sentence, flush=True)
