"""`g2d2 demo`: the main job on the embedded prior, by the very path of every sweep."""

import argparse
from importlib.resources import files

import yaml

from operators.validation import validate
from pipelines.commands.sweep import finish
from pipelines.manifest import BuildSettings, build_manifest
from pipelines.spec import SweepSpec

EXAMPLE = "g2d2 demo --out out/demo"
TASKS = ("sr4-32", "gaussian-deblur-32")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", default="out/demo", help="folder or s3:// URL (default: out/demo)")
    parser.add_argument("--images", type=int, default=12, help="held-out photographs (default: 12)")
    parser.set_defaults(json=False, retry_failed=False)


def run(args: argparse.Namespace) -> int:
    """Measure held-out photographs, then sweep; run again, it goes on or shows the results."""
    manifest, output = f"{args.out}/manifest-{args.images}", f"{args.out}/sweep-{args.images}"
    settings = validate(
        BuildSettings, {"source": "cifar10-heldout", "tasks": TASKS, "limit": args.images}, where="images"
    )
    build_manifest(settings, manifest)
    values = yaml.safe_load(files("pipelines").joinpath("demo.yaml").read_text(encoding="utf-8"))
    spec = validate(SweepSpec, values | {"manifest": manifest, "output": output}, where="demo")
    return finish(spec, args)
