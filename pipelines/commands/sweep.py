"""`g2d2 sweep`: the main job, resumable to the row."""

import argparse
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

from pipelines.spec import SweepSpec, load_spec
from pipelines.summary import cell_table, process_table
from pipelines.sweep import SweepResult, counts_record, run_sweep

EXAMPLE = "g2d2 sweep examples/star-against-markov.yaml"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, help="the sweep's specification, a YAML file")
    parser.add_argument("--retry-failed", action="store_true", help="solve shards with failed rows again")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")


def run(args: argparse.Namespace) -> int:
    return finish(load_spec(args.spec), args)


def finish(spec: SweepSpec, args: argparse.Namespace) -> int:
    """Run or resume a sweep, track it, print it. 0 all good, 1 some rows failed, 2 not complete."""
    with redirect_stdout(sys.stderr):  # Ray tells of lost workers on stdout, which is for results alone
        result = run_sweep(spec, retry_failed=args.retry_failed)
    if args.json:
        print(json.dumps({"scores": result.scores_url, **counts_record(result.counts)}), flush=True)
    else:
        _print(result, spec.metrics, spec.grid.names())
    if spec.tracking.enabled:
        from pipelines.tracking import track

        tracked = track(result, spec)
        if not args.json:
            print(tracked.where())
    if not result.counts.complete:
        return 2
    return 1 if result.counts.failed else 0


def _print(result: SweepResult, metrics: list[str], varied: list[str]) -> None:
    print(cell_table(result.scores, metrics))
    versus = process_table(result.scores, metrics, varied)
    if versus is not None:
        print(f"\n{versus}")
    counts = result.counts
    print(
        f"\n{counts.committed} of {counts.expected} work items committed, {counts.duplicates} twice, "
        f"{counts.failed} failed"
    )
    print(f"scores: {result.scores_url}")
