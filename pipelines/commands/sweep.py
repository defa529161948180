"""`g2d2 sweep`: the main job, resumable to the row."""

import argparse
import json
import shlex
from dataclasses import asdict
from pathlib import Path

from operators.plurals import counted
from pipelines.console.result_tables import cell_lines, contrast_lines
from pipelines.console.terminal import command, results_alone
from pipelines.plan.sweep_spec import SweepSpec, load_spec
from pipelines.score.race_results import cost_sentence
from pipelines.score.stored_sweep import StoredSweep
from pipelines.searching import sweep_or_search
from pipelines.sweep import SweepResult, counts_record
from pipelines.track import Tracked, track
from pipelines.track.server import destination

_SHOWN_FAILURES = 3
EXAMPLE = "g2d2 sweep examples/tour.yaml"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, help="the sweep's specification, a YAML file")
    parser.add_argument("--retry-failed", action="store_true", help="solve failed rows again")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")


def run(args: argparse.Namespace) -> int:
    return finish(load_spec(args.spec), args)


def finish(spec: SweepSpec, args: argparse.Namespace) -> int:
    """Run or resume a sweep, track it, print it. 0 all good, 1 some rows failed, 2 not complete or not tracked."""
    if spec.tracking.enabled:
        destination(spec.tracking, spec.output)  # a bad address is refused before hours of work
    with results_alone():
        result = sweep_or_search(spec, retry_failed=args.retry_failed)
    sweep = result.stored(spec)
    if not args.json:
        _print(result, sweep)
    tracked = None
    try:
        if spec.tracking.enabled:
            with results_alone():
                tracked = track(sweep)
    finally:  # results are told whatever happens to their logging
        if args.json:
            print(json.dumps(_facts(result, tracked)), flush=True)
    if tracked is not None and not args.json:
        print(tracked.where())
    if not result.counts.complete:
        return 2
    return 1 if result.counts.failed else 0


def _facts(result: SweepResult, tracked: Tracked | None) -> dict[str, object]:
    """`tracked` is null where nothing was logged, or not all."""
    return {
        "scores": result.scores_url,
        **counts_record(result.counts),
        "notes": list(result.notes),
        "tracked": None if tracked is None else asdict(tracked),
    }


def _print(result: SweepResult, sweep: StoredSweep) -> None:
    print(cell_lines(sweep.record, result.notes))
    contrasts = contrast_lines(sweep.record)
    if contrasts:
        print(f"\n{contrasts}")
    if sweep.race is not None:
        searched = [] if sweep.search is None else [f"search: {sweep.search.sentence}"]
        print("\n" + "\n".join([*searched, *(f"race: {heat.sentence}" for heat in sweep.race.heats)]))
        print(f"race: {cost_sentence(result.counts.expected, result.summary['items'], sweep.early)}")
    counts = result.counts
    print(
        f"\n{counts.committed} of {counted(counts.expected, 'work item')} committed, {counts.duplicates} twice, "
        f"{counts.failed} failed"
    )
    for sentence, count in result.scores.errors.most_common(_SHOWN_FAILURES):
        print(f"  {count} x {sentence}")
    print(f"scores: {result.scores_url}")
    print(f"report: {command('g2d2')} report {shlex.quote(result.folder.url)}", flush=True)
