"""`g2d2 compare`: hold scored results against a baseline, and exit with 1 where they became worse."""

import argparse
from pathlib import Path

from eval.gate import DEFAULT_TOLERANCES, compare, default_tolerances, parse_tolerances
from eval.scores import ScoreTable
from pipelines.images import write_bytes

EXAMPLE = "g2d2 compare tonight.parquet accepted.parquet --tolerance psnr=0.1 lpips_vgg=2% --junit gate.xml"
_DEFAULTS = " ".join(f"{metric}={tolerance}".replace("%", "%%") for metric, tolerance in DEFAULT_TOLERANCES.items())


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("candidate", metavar="CANDIDATE", help="scored Parquet to judge: a path or URL")
    parser.add_argument("baseline", metavar="BASELINE", help="scored Parquet that was accepted")
    parser.add_argument(
        "--tolerance",
        nargs="+",
        action="extend",
        metavar="METRIC=SIZE",
        help="the metrics to judge and what loss is tolerated, as a number or a percentage of the baseline; for a "
        f"metric of your own METRIC:higher=SIZE or METRIC:lower=SIZE (default: {_DEFAULTS}, those that are there)",
    )
    parser.add_argument(
        "--confidence", type=float, default=0.95, help="that nothing is reported where nothing changed (default: 0.95)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write JUnit XML")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write Markdown")


def run(args: argparse.Namespace) -> int:
    """0: nothing became worse. 1: something regressed, is missing or could not be compared."""
    baseline = ScoreTable.read(args.baseline)
    if args.tolerance:
        tolerances = parse_tolerances(args.tolerance, args.confidence)
    else:
        tolerances = default_tolerances(baseline.metrics, args.confidence)
    result = compare(ScoreTable.read(args.candidate), baseline, tolerances)
    for path, text in ((args.junit, result.to_junit), (args.markdown, result.to_markdown)):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(text().encode(), path)
    print(result.to_json() if args.json else result.to_table())
    return 0 if result.passed else 1
