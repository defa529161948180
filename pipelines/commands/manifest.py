"""`g2d2 manifest`: measure a data set once, look at what was stored, check it."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from operators import TASKS, InputError, operator_names, operator_settings, validate
from operators.pictures import write_png
from operators.plurals import counted
from pipelines.console.actions import Action, add_actions
from pipelines.console.options import add_background_option, parse_changes
from pipelines.console.text_table import text_table
from pipelines.manifest import BuildSettings, Built, Manifest, NothingBuiltError, build_manifest, check_manifest
from pipelines.manifest.manifest_record import Rejected
from pipelines.manifest.motion_build_settings import MOTION, PATH_TASKS, MotionSettings
from pipelines.manifest.motion_building import build_motion_manifest
from pipelines.manifest.reading import Place, read_row
from pipelines.manifest.sheet import contact_sheet

EXAMPLE = "g2d2 manifest build cifar10-heldout manifests/cifar10 --task sr4-32 gaussian-deblur-32 --limit 100"

SIGNALS = ("image", MOTION)

_LISTED = 20
"""Rejected pictures and problems that are printed; manifest.json has all of the former."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_actions(parser, ACTIONS)


def run(args: argparse.Namespace) -> int:
    return ACTIONS[args.action].run(args)


def _configure_build(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", metavar="SOURCE", help="folder of pictures, Parquet, CSV, or cifar10-heldout; for motions a "
        "HumanML3D folder, BVH files, Parquet of joints, a CSV of x and z, or a path's name"
    )  # fmt: skip
    parser.add_argument("out", metavar="OUT", help="folder or s3:// URL of the new manifest")
    parser.add_argument("--signal", choices=SIGNALS, default="image", help="what is measured (default: image)")
    choice = parser.add_mutually_exclusive_group()
    names = f"tasks: {', '.join(TASKS)}; of motions {', '.join(PATH_TASKS)}"
    choice.add_argument("--task", nargs="+", action="extend", dest="tasks", metavar="NAME", help=names)
    choice.add_argument(
        "--operator", metavar="NAME", help=f"one operator: {', '.join(operator_names())}, or module:thing"
    )
    parser.add_argument("--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="operator settings")
    parser.add_argument(
        "--sigma", type=float, metavar="S", help="the operator's noise level (default: 0.05, and 0 m for motions)"
    )
    parser.add_argument("--image-size", type=int, metavar="N", help="the operator's images are N x N (default: any)")
    parser.add_argument("--seed", type=int, help="seed of all noise (default: 0)")
    for column in ("image", "id", "label", "prompt"):
        parser.add_argument(f"--{column}-column", metavar="NAME", help=_help(f"{column}_column"))
    parser.add_argument("--prompt", metavar="TEXT", help="one prompt for all")
    parser.add_argument("--prompt-template", metavar="TEXT", help='such as "a photo of a {label}"')
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N sources")
    parser.add_argument("--per-label", type=int, metavar="N", help="only the first N sources of every label")
    parser.add_argument("--resize", action="store_true", help="crop and resize pictures of another size")
    parser.add_argument("--grey", action="store_true", help="pictures of one channel, for a prior of grey images")
    add_background_option(parser)
    parser.add_argument("--split", metavar="NAME", help="motions: clips that NAME.txt of a HumanML3D folder lists")
    parser.add_argument("--prompts", type=Path, metavar="FILE", help="motions: a prompt per line, each for every path")
    parser.add_argument("--fps", type=float, metavar="N", help="motions: frame rate, instead of what files say")
    parser.add_argument("--cut", action="store_true", default=None, help="motions: cut longer clips into parts")
    parser.add_argument("--frames", type=int, metavar="N", help="motions: frames of drawn paths (default: 196)")
    parser.add_argument("--rows-per-shard", type=int, metavar="N", help="most rows of a file (default: 1000)")
    parser.add_argument("--overwrite", action="store_true", help="replace another manifest at OUT")


def _help(field: str) -> str:
    text = BuildSettings.model_fields[field].description or ""
    return text.replace("`", "").rstrip(".").replace("%", "%%")


def _build(args: argparse.Namespace) -> int:
    motion = args.signal == MOTION
    model, other = (MotionSettings, BuildSettings) if motion else (BuildSettings, MotionSettings)
    _refuse_options(args, set(other.model_fields) - set(model.model_fields))
    if not motion and not (args.tasks or args.operator):
        raise InputError("manifest build: give --task or --operator.")
    given = {name: getattr(args, name) for name in model.model_fields if getattr(args, name, None) is not None}
    if args.prompts:
        given["prompts"] = _prompt_lines(args.prompts)
    operator = args.operator or ("path" if motion and not args.tasks else None)
    if operator:
        given["params"] = parse_changes(args.set, {operator: operator_settings(operator)})[operator]
    elif args.set:
        raise InputError("--set: it goes with --operator; a task has its own settings.")
    build: Callable[..., Built] = build_motion_manifest if motion else build_manifest
    try:
        built = build(validate(model, given, where="manifest build"), args.out, overwrite=args.overwrite)
    except NothingBuiltError as error:
        _print_rejected(error.rejected, args.signal)
        raise
    except KeyboardInterrupt:
        print(f"\ninterrupted; {args.out} is not complete, the same command builds it anew", file=sys.stderr)
        return 130
    _print_built(built, args.signal)
    _print_rejected(built.rejected, args.signal)
    return 1 if built.rejected else 0


def _refuse_options(args: argparse.Namespace, names: set[str]) -> None:
    """Options that say nothing about this signal."""
    for name in sorted(names):
        if getattr(args, name, None):
            raise InputError(f"--{name.replace('_', '-')}: it says nothing about the signal {args.signal!r}.")


def _prompt_lines(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--prompts: {path} cannot be read ({error}).") from None
    prompts = [line.strip() for line in lines if line.strip()]
    if not prompts:
        raise InputError(f"--prompts: {path} has no lines.")
    return prompts


def _print_built(built: Built, signal: str) -> None:
    summary = built.summary
    verb = "is there already, the same:" if built.was_there else "holds"
    made_of = "" if signal == MOTION else f" of {counted(built.sources, 'picture')}"
    print(
        f"{built.url} {verb} {counted(summary.rows, 'measurement')}{made_of} "
        f"({', '.join(summary.tasks)}) in {counted(len(summary.shards), 'file')}, digest {summary.digest}"
    )


def _print_rejected(rejected: Sequence[Rejected], signal: str) -> None:
    if not rejected:
        return
    sources = len({one.source for one in rejected})
    print(f"rejected {counted(sources, 'clip' if signal == MOTION else 'picture')}:", file=sys.stderr)
    for one in rejected[:_LISTED]:
        print(f"  {one.reason}", file=sys.stderr)
    if len(rejected) > _LISTED:
        print(f"  and {len(rejected) - _LISTED} more, all in manifest.json", file=sys.stderr)


def _configure_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="folder or s3:// URL of a manifest")
    parser.add_argument("--rows", type=int, default=8, metavar="N", help="rows to show (default: 8)")
    parser.add_argument(
        "--sheet", type=Path, metavar="PNG", help="write these rows as a picture, truth above measurement"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _show(args: argparse.Namespace) -> int:
    if args.rows < 1:
        raise InputError(f"rows: {args.rows} must be at least 1.")
    manifest = Manifest.open(args.url)
    shown, places = _first_rows(manifest, args.rows)
    if args.json:
        print(json.dumps(manifest.summary.model_dump() | {"url": manifest.url, "first_rows": shown}, indent=1))
    else:
        _print_summary(manifest)
        _print_table(shown)
    return _draw(manifest, places, args.sheet) if args.sheet else 0


def _draw(manifest: Manifest, places: list[Place], path: Path) -> int:
    """Write a contact sheet; exit code 1 if some of it could not be shown."""
    if not places:
        raise InputError(f"sheet: manifest {manifest.url} has no rows to show.")
    table, problems = manifest.fetch(places), list[InputError]()
    sheet = contact_sheet([read_row(table, row) for row in range(table.num_rows)], problems)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_png(sheet, path)
    print(path, file=sys.stderr)
    for problem in problems:
        print(f"not shown: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _first_rows(manifest: Manifest, count: int) -> tuple[list[dict[str, Any]], list[Place]]:
    rows: list[dict[str, Any]] = []
    for batch in manifest.index():
        rows += batch.slice(0, count - len(rows)).to_pylist()
        if len(rows) == count:
            break
    return rows, [(row["shard"], row["row"]) for row in rows]


def _print_summary(manifest: Manifest) -> None:
    summary = manifest.summary
    built = " ".join(f"{name}={json.dumps(value)}" for name, value in summary.built.items())
    facts = {
        "manifest": manifest.url,
        "measurements": f"{summary.rows} in {counted(len(summary.shards), 'file')}",
        "tasks": ", ".join(summary.tasks),
        **({} if summary.signals == ["image"] else {"signals": ", ".join(summary.signals)}),
        **({"without truth": str(without)} if (without := sum(summary.without_truth.values())) else {}),
        "digest": summary.digest,
        "built": built,
        "rejected": str(len(summary.rejected)),
    }
    print(text_table(list(facts.items())) + "\n")


def _print_table(rows: list[dict[str, Any]]) -> None:
    table = []
    for row in rows:
        sizes = (_size(row[name], row["signal"]) for name in ("x_shape", "y_shape"))
        table.append((row["id"], row["task"], row["operator"], f"{row['sigma']:g}", _cut(row["prompt"]), *sizes))
    print(text_table(table, ["id", "task", "operator", "sigma", "prompt", "x", "y"]))


def _size(shape: Sequence[int], signal: str) -> str:
    """Width x height of pictures (C, H, W); of others all sides in their order."""
    picture = signal == "image" and len(shape) == 3
    return "x".join(str(side) for side in (reversed(shape[1:]) if picture else shape))


def _cut(text: str, longest: int = 40) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 3] + "..."


def _configure_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="folder or s3:// URL of a manifest")
    parser.add_argument(
        "--prior", metavar="NAME", help="also list rows that this prior (name, folder, hub id) cannot solve"
    )


def _check(args: argparse.Namespace) -> int:
    manifest = Manifest.open(args.url)
    lines, problems = check_manifest(manifest), 0
    if args.prior is not None:
        from g2d2.priors.locating import locate_prior  # with the model libraries, which checking alone does without
        from pipelines.plan.readiness import misfits

        lines = chain(lines, misfits(manifest, locate_prior(args.prior).facts()))
    for problem in lines:
        print(problem)
        problems += 1
    if problems:
        print(f"{manifest.url}: {counted(problems, 'problem')}", file=sys.stderr)
        return 1
    print(f"{manifest.url}: {counted(manifest.rows, 'measurement')}, all whole; digest {manifest.digest}")
    return 0


ACTIONS = {
    "build": Action("measure a data set and store it", EXAMPLE, _configure_build, _build),
    "show": Action(
        "tell what a manifest holds", "g2d2 manifest show manifests/cifar10 --sheet s.png", _configure_show, _show
    ),
    "check": Action("check every row of a manifest", "g2d2 manifest check manifests/cifar10", _configure_check, _check),
}
