"""`g2d2 track`: log a finished sweep to MLflow, or finish a logging that was interrupted."""

import argparse
import json
from dataclasses import asdict

from operators.plurals import counted
from pipelines.track import track_folder

EXAMPLE = "g2d2 track s3://bucket/sweeps/eta --uri http://mlflow:5000"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("output", metavar="OUTPUT", help="folder or s3:// URL of a sweep's results")
    parser.add_argument(
        "--uri",
        metavar="URI",
        help="MLflow server or sqlite:///file.db (default: the specification's, MLFLOW_TRACKING_URI, or mlflow.db in "
        "the output folder)",
    )
    parser.add_argument(
        "--metrics",
        nargs="+",
        metavar="NAME",
        help="log these metrics and distances only (default: all that are scored)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of sentences")


def run(args: argparse.Namespace) -> int:
    """Logs each run once: calling it again adds what is new and leaves the rest."""
    tracked = track_folder(args.output, args.uri, args.metrics)
    if args.json:
        print(json.dumps(asdict(tracked)))
        return 0
    print(
        f"experiment {tracked.experiment}: {counted(tracked.cells_logged, 'cell')} logged, "
        f"{tracked.cells_skipped} were there already"
    )
    print(tracked.where())
    return 0
