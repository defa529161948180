"""`g2d2 status`: how far a sweep is, read from its store alone, also while it runs."""

import argparse
import json

from pipelines.layout import SweepFolder
from pipelines.status import read_status

EXAMPLE = "g2d2 status out/demo/sweep"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("output", help="the sweep's output folder or URL")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """0 complete, 1 rows failed, 2 not complete."""
    status = read_status(SweepFolder(args.output))
    if args.json:
        print(json.dumps(status.record()))
    else:
        print(f"{status.name}: {status.scored} of {status.items} work items scored, {status.solved} solved, "
              f"{status.failed} failed")  # fmt: skip
        for error, count in status.errors.items():
            print(f"  {count} x {error}")
    if status.scored < status.items:
        return 2
    return 1 if status.failed else 0
