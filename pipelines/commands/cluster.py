"""`g2d2 cluster`: cluster files from one small set of values."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from cluster.files import KINDS, load_values
from operators import InputError
from operators.pictures import write_bytes
from operators.plain_yaml import parse_yaml

EXAMPLE = "g2d2 cluster render aws --values cluster/values.yaml --set gpu=A10G workers.max=8 > cluster.yaml"
_FILES = {
    "aws": "for `ray up` on Amazon EC2",
    "gcp": "for `ray up` on Google Compute Engine",
    "rayjob": "for `kubectl apply`: one sweep on KubeRay",
    "raycronjob": "for `kubectl apply`: a nightly evaluation on KubeRay",
    "worker-policy": "for `aws iam`: what workers may do, as JSON",
    "head-policy": "for `aws iam`: what the head may do, as JSON",
}


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    render = actions.add_parser(
        "render",
        help="print a cluster file",
        description="Print a cluster file made from values.",
        epilog=f"example:\n  {EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = "; ".join(f"{name}: {what}" for name, what in _FILES.items())
    render.add_argument("kind", choices=list(KINDS), metavar="KIND", help=kinds)
    render.add_argument(
        "--values", type=Path, default=Path("cluster/values.yaml"), metavar="FILE", help="YAML (default: %(default)s)"
    )
    render.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="change single values")
    render.add_argument("--out", type=Path, metavar="FILE", help="write here instead of printing")


def run(args: argparse.Namespace) -> int:
    content = KINDS[args.kind](load_values(args.values, _changes(args.set)))
    if args.kind.endswith("-policy"):
        text = json.dumps(content, indent=2) + "\n"
    else:
        text = yaml.dump(content, Dumper=_Plain, sort_keys=False, width=120)
    if args.out is None:
        print(text, end="")
    else:
        write_bytes(text.encode(), args.out)
    return 0


class _Plain(yaml.SafeDumper):
    """Parts that appear twice are written twice: Kubernetes reads no references."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _changes(words: Sequence[str]) -> dict[str, Any]:
    """`workers.max=8` by dotted name, values read as YAML."""
    changes: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not all(name.split(".")):
            raise InputError(f"--set: {word!r} is not name=value, such as workers.max=8.")
        if name in changes:
            raise InputError(f"--set: {name!r} is given twice; give it once.")
        changes[name] = parse_yaml(text, f"--set: the value of {word!r}").content
    return changes
