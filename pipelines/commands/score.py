"""`g2d2 score`: score a sweep's reconstructions with more metrics, or again, without solving."""

import argparse

from eval.distribution import distribution_names
from eval.metrics import metric_names
from operators.validation import validate
from pipelines.console.result_tables import cell_lines
from pipelines.console.terminal import results_alone
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.score.scorings import known_scorings
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.sweep import score_again

EXAMPLE = "g2d2 score out/demo/sweep --metrics psnr lpips_alex --distribution fid kd_vgg16"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("output", help="the sweep's output folder or URL")
    parser.add_argument(
        "--metrics", nargs="+", metavar="NAME", help=f"besides what is scored already: {', '.join(metric_names())}"
    )
    parser.add_argument(
        "--distribution", nargs="+", metavar="NAME",
        help=f"of all reconstructions of a cell at once: {', '.join(distribution_names())}",
    )  # fmt: skip
    parser.add_argument("--again", action="store_true", help="also what is scored already")


def run(args: argparse.Namespace) -> int:
    """Scores what is solved; 2 if not everything is solved yet."""
    folder = SweepFolder(args.output)
    known = known_scorings(folder)
    given = {"metrics": args.metrics, "distribution": args.distribution}
    if args.metrics is None and args.distribution is None:  # all that this sweep was ever scored with
        given = {name: list(dict.fromkeys(n for one in known for n in getattr(one, name))) for name in given}
    changes = {"output": args.output} | {name: [] if value is None else value for name, value in given.items()}
    spec = validate(SweepSpec, folder.read_summary()["specification"] | changes, where=f"sweep {args.output}")
    with results_alone():
        result = score_again(spec, again=args.again)
    sweep = result.stored(spec)
    distances = {name for found in sweep.distances.values() for name in found}
    print(cell_lines(sweep.only([*(spec.metrics or known[0].metrics), *distances]).record, result.notes))
    print(f"\nscores  {result.scores_url}")
    if not result.counts.complete:
        return 2
    return 1 if result.counts.failed else 0
