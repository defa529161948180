"""`g2d2 doctor`: look at everything a run depends on, and say what to do about what is missing."""

import argparse
import json

from pipelines.console.text_table import text_table
from pipelines.doctor import checks, examine

EXAMPLE = "g2d2 doctor --store s3://bucket/sweeps --tracking http://127.0.0.1:5000"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="URL", help="write a small object there, read it and remove it")
    parser.add_argument("--ray", metavar="ADDRESS", help="host:port or http://host:port (default: RAY_ADDRESS)")
    parser.add_argument("--tracking", metavar="URI", help="MLflow server to ask (default: MLFLOW_TRACKING_URI)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Exit code 1 if something is broken; a note alone, such as missing FID weights, is 0."""
    findings = examine(checks(args.ray, args.store, args.tracking))
    if args.json:
        print(json.dumps({name: {"state": f.state, "text": f.text} for name, f in findings.items()}, indent=1))
    else:
        print(text_table([[finding.state, name, finding.text] for name, finding in findings.items()]))
    return 1 if any(finding.state == "fail" for finding in findings.values()) else 0
