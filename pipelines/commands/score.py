"""`g2d2 score`: score a sweep's reconstructions again, or with other metrics, without solving."""

import argparse

from eval.distribution import distribution_names
from eval.metrics import metric_names
from operators.validation import validate
from pipelines.layout import SweepFolder
from pipelines.spec import SweepSpec
from pipelines.summary import cell_table
from pipelines.sweep import score_again
from pipelines.terminal import results_alone

EXAMPLE = "g2d2 score out/demo/sweep --metrics psnr lpips_alex --distribution fid kd_vgg16"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("output", help="the sweep's output folder or URL")
    parser.add_argument(
        "--metrics", nargs="+", metavar="NAME", help=f"instead of the sweep's own: {', '.join(metric_names())}"
    )
    parser.add_argument(
        "--distribution", nargs="*", metavar="NAME",
        help=f"distances over all images of a cell, instead of the sweep's own: {', '.join(distribution_names())}",
    )  # fmt: skip
    parser.add_argument("--again", action="store_true", help="also what is scored already")


def run(args: argparse.Namespace) -> int:
    """Scores what is solved; 2 if not everything is solved yet."""
    summary = SweepFolder(args.output).read_summary()
    given = {"metrics": args.metrics, "distribution": args.distribution}
    changes = {"output": args.output} | {name: value for name, value in given.items() if value is not None}
    spec = validate(SweepSpec, summary["specification"] | changes, where=f"sweep {args.output}")
    with results_alone():
        result = score_again(spec, again=args.again)
    print(cell_table(result.scores, spec.metrics, spec.grid.names(), result.distances, result.references))
    print(f"\nscores  {result.scores_url}")
    if not result.counts.complete:
        return 2
    return 1 if result.counts.failed else 0
