"""`g2d2 score`: score a sweep's reconstructions again, or with other metrics, without solving."""

import argparse

from eval.metrics import metric_names
from operators.validation import validate
from pipelines.layout import SweepFolder
from pipelines.spec import SweepSpec
from pipelines.summary import cell_table
from pipelines.sweep import score_again

EXAMPLE = "g2d2 score out/demo/sweep --metrics psnr lpips_alex"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("output", help="the sweep's output folder or URL")
    parser.add_argument(
        "--metrics", nargs="+", metavar="NAME", help=f"instead of the sweep's own: {', '.join(metric_names())}"
    )
    parser.add_argument("--again", action="store_true", help="also what is scored already")


def run(args: argparse.Namespace) -> int:
    """Scores what is solved; 2 if not everything is solved yet."""
    summary = SweepFolder(args.output).read_summary()
    changes = {"output": args.output} | ({"metrics": args.metrics} if args.metrics else {})
    spec = validate(SweepSpec, summary["specification"] | changes, where=f"sweep {args.output}")
    result = score_again(spec, again=args.again)
    print(cell_table(result.scores, spec.metrics))
    print(f"\nscores  {result.scores_url}")
    if not result.counts.complete:
        return 2
    return 1 if result.counts.failed else 0
