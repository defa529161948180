"""`g2d2 tune`: the best settings of a sweep's arms, per task, for the prior they were found with."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from operators import InputError
from operators.plurals import counted
from pipelines.console.text_table import text_table
from pipelines.plan.arms import SHIPPED
from pipelines.preset_choice import find_preset, write_preset
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.tuning import LikeReal, Search, find_best, write_tuned

EXAMPLE = "g2d2 tune out/cifar10/tuning/pixel --into priors/mine"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("output", nargs="+", help="output folder or URL of a finished sweep over settings")
    parser.add_argument("--metric", help="what is best (default: the sweep's first that has a better and a worse)")
    parser.add_argument("--arms", nargs="+", default=[], metavar="NAME", help="only these (default: all with a prior)")
    parser.add_argument(
        "--near", nargs="+", default=[], metavar="METRIC", help="of the settings that are nearly best, take the one "
        "whose means of these are nearest to the real ones' (default: the best)",
    )  # fmt: skip
    parser.add_argument("--within", type=float, metavar="LOSS", help="with --near: how much worse is nearly best")
    parser.add_argument(
        "--as", dest="preset", choices=SHIPPED[1:], help="the one best setting of all arms, and of several sweeps on "
        "the same measurements, as this preset of the prior (default: each arm's, which `preset: tuned` reads)",
    )  # fmt: skip
    parser.add_argument(
        "--most-calls", type=float, metavar="N", help="with --as: only settings that decode an image so often at most"
    )
    parser.add_argument(
        "--into", type=Path, metavar="FOLDER", help="the prior's folder: write tuned.json there, which `preset: tuned` "
        "or the name of --as reads, and all trials to tuning.json (default: print only)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    _refuse_misfits(args)
    sweeps = [StoredSweep.read(SweepFolder(output)) for output in args.output]
    if args.preset is not None:
        return _preset(args, sweeps)
    (sweep,) = sweeps
    metric = args.metric or next((info.name for info in sweep.record.judged), "")
    found = find_best(sweep, metric, args.arms, _second(args))
    raced = sweep.spec.race is not None
    header = ("arm", "task", "tried", metric, *(["race"] if raced else []), "best")
    print(text_table([_row(search, metric, raced) for search in found], header))
    if raced:
        print("note: of a race's winner the mean is over the measurements that confirm it, of others over all they saw")
    counts = {search.arm: len(search.trials) for search in found}
    if len(set(counts.values())) > 1:
        words = ", ".join(f"{arm} {count}" for arm, count in counts.items())
        print(f"note: not the same number of settings was tried of every arm: {words}")
    for text in _edges(found):
        print(f"note: {text}")
    if args.into is not None:
        write_tuned(found, sweep, args.into)
        print(f"written to {args.into}: {counted(len(found), 'best setting')}")
    return 0


def _refuse_misfits(args: argparse.Namespace) -> None:
    """Options that say nothing together."""
    if args.preset is None and (len(args.output) > 1 or args.most_calls is not None):
        raise InputError("as: several sweeps, or --most-calls, need the name of a preset; give --as.")
    if args.preset is not None and (args.near or args.within is not None):
        raise InputError("near: a preset by --as has one criterion, its metric; leave --near and --within out.")


def _preset(args: argparse.Namespace, sweeps: Sequence[StoredSweep]) -> int:
    """One setting of every task under a name."""
    metric = args.metric or next((info.name for info in sweeps[0].record.judged), "")
    found = find_preset(sweeps, args.preset, metric, args.arms, args.most_calls)
    rows = [
        (
            search.task, f"{search.within} of {len(search.tried)}", f"{search.best.trial.means[metric]:.4g}",
            f"{search.best.decoder_calls:g}", search.best.arm, _words(search.best.trial.settings),
        )
        for search in found
    ]  # fmt: skip
    print(text_table(rows, ("task", "chosen from", metric, "decoder calls", "arm", args.preset)))
    if args.into is not None:
        write_preset(found, args.into)
        print(f"written to {args.into}: preset {args.preset} of {counted(len(found), 'task')}")
    return 0


def _second(args: argparse.Namespace) -> LikeReal | None:
    """The second criterion, if there is one."""
    if bool(args.near) != (args.within is not None) or not (args.within or 0) >= 0:
        raise InputError("near: give metrics with --near and a loss of 0 or more with --within, or neither.")
    return LikeReal(args.near, args.within) if args.near else None


def _row(search: Search, metric: str, raced: bool) -> tuple[str, ...]:
    best = _words(search.best.settings)
    mean = search.best.confirmed.get(metric, search.best.means[metric])
    confirmed = ["confirmed" if metric in search.best.confirmed else "not confirmed"] if raced else []
    return search.arm, search.task, str(len(search.trials)), f"{mean:.4g}", *confirmed, best


def _words(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_word(value)}" for name, value in settings.items())


def _edges(found: Sequence[Search]) -> list[str]:
    """Numbers that are best at the end of what was tried: beyond it may be better."""
    notes = []
    for search in found:
        for name, value in search.best.settings.items():
            tried = sorted({trial.settings[name] for trial in search.trials if _is_number(trial.settings[name])})
            if _is_number(value) and len(tried) > 2 and value in (tried[0], tried[-1]):
                end = "least" if value == tried[0] else "largest"
                notes.append(f"{search.arm}, {search.task}: {name} {_word(value)} is the {end} that was tried")
    return notes


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
