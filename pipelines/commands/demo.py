"""`g2d2 demo`: the main job on the embedded prior, by the very path of every sweep."""

import argparse
from importlib.resources import files

from operators.plain_yaml import parse_yaml
from operators.validation import validate
from pipelines.commands.sweep import finish
from pipelines.manifest import BuildSettings, build_manifest
from pipelines.plan.sweep_spec import SweepSpec

EXAMPLE = "g2d2 demo --out out/demo"
TASKS = ("sr4-32", "gaussian-deblur-32")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", default="out/demo", help="folder or s3:// URL (default: out/demo)")
    parser.add_argument("--images", type=int, default=12, help="of the 512 held-out photographs (default: 12)")
    parser.set_defaults(json=False, retry_failed=False)


def run(args: argparse.Namespace) -> int:
    """Measure all held-out photographs, then sweep some; run again, it goes on, takes more or shows the results."""
    manifest, output = f"{args.out}/manifest", f"{args.out}/sweep"
    values = parse_yaml(files("pipelines").joinpath("demo.yaml").read_text(encoding="utf-8"), "demo").content
    places = {"manifest": manifest, "output": output, "select": {"limit": args.images}}
    spec = validate(SweepSpec, values | places, where="demo")
    build_manifest(validate(BuildSettings, {"source": "cifar10-heldout", "tasks": TASKS}, where="demo"), manifest)
    return finish(spec, args)
