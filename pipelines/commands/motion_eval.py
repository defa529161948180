"""`g2d2 eval --signal motion`: motions of any method by what they were given, and beside real ones."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from torch import Tensor

from eval.distribution.motion_names import EMBEDDED, T2M, set_names
from eval.metrics import METRICS, MetricInfo, default_metrics, metric_info, metric_names
from eval.motion_evaluators import EVALUATORS, open_evaluator
from operators import InputError, operator_settings
from operators.validation import did_you_mean
from pipelines.console.motion_table import motion_json, print_motion_scores
from pipelines.console.options import parse_changes
from pipelines.manifest.motion_build_settings import MOTION, PATH_TASKS
from pipelines.score.given_measurements import (
    CROPPED,
    DrawnAnew,
    Given,
    GivenMeasurements,
    Measurements,
    fitted,
    read_given,
)
from pipelines.score.motion_folders import MotionFolder, SetScores, read_motions, score_clips, score_given, score_sets
from pipelines.score.picture_scores import Row, summarize, write_scores
from pipelines.score.swept_motions import is_sweep, swept_motions

_DRAWN = (
    "key frames were drawn anew, by --seed and --task, as a manifest of real clips of these names would have them; "
    "motions that were given others are scored with --measurements"
)


def configure_motion(parser: argparse.ArgumentParser) -> None:
    """Options that say nothing about pictures."""
    parser.add_argument(
        "--measurements", metavar="MANIFEST_OR_FOLDER", help="motions: what they were given, by name: a manifest, or a "
        "folder that `measure` or `solve` wrote; real ones may then be left out"
    )  # fmt: skip
    parser.add_argument(
        "--task", metavar="NAME", help="motions: the manifest's or sweep's task, or the one whose key frames are drawn"
    )
    parser.add_argument("--cell", metavar="NAME", help="motions of a sweep's output: an arm, or a cell's label or id")
    parser.add_argument(
        "--evaluator", default=EMBEDDED, metavar="NAME", help="motions: what embeds motions and texts: cmu (default), "
        "t2m:FOLDER for the evaluator of published tables, or module:thing"
    )  # fmt: skip
    parser.add_argument("--repeats", type=int, default=20, metavar="N", help="motions: draws of groups and pairs")
    parser.add_argument("--seed", type=int, default=0, help="motions: seed of key frames, groups and pairs")
    parser.add_argument(
        "--fps", type=float, metavar="N", help="motions: frame rate, instead of what files say; arrays of joints "
        "say none and are taken as 20"
    )  # fmt: skip
    parser.add_argument(
        "--split", metavar="NAME", help="motions: clips that NAME.txt of the real HumanML3D folder lists"
    )
    parser.add_argument("--cut", action="store_true", help="motions: cut longer clips into parts of 196 frames")


@dataclass(frozen=True)
class Chosen:
    """What is computed of motions."""

    clips: list[str]
    """Metrics of a clip alone, which are made of real ones too."""
    given: list[str]
    """Metrics that look at what a motion was given."""
    kinds: list[str] | None
    """Numbers about whole sets; None: all that can be had."""


def run_motion(args: argparse.Namespace) -> int:
    """Every number that the sources allow, or those asked for; 1 where a clip or a number is missing."""
    if args.repeats < 1:
        raise InputError(f"repeats is {args.repeats}: it must be at least 1.")
    chosen = _chosen(args.metrics, args.evaluator)
    evaluator = open_evaluator(args.evaluator) if chosen.kinds != [] else None
    real, generated, measurements = _sources(args)
    given, failed = read_given(measurements, generated.clips)
    real = real or MotionFolder({name: one.truth for name, one in given.items() if one.truth is not None}, {}, [])
    given = {name: _with_truth(one, real.clips.get(name)) for name, one in given.items()}
    _tell(generated, real, given)
    rows = {"real": score_clips(real, chosen.clips), "generated": score_clips(generated, chosen.clips)}
    fits, unfit = fitted(given, generated.clips)
    pairs = [*score_given(generated, fits, chosen.given), *unfit] if chosen.given else []
    sets = SetScores([], [], [])
    if evaluator is not None:
        sets = score_sets(real, generated, evaluator, args.repeats, args.seed, chosen.kinds)
    sides = {side: (len(own), summarize(own, _infos(chosen.clips))) for side, own in rows.items() if own}
    numbers = (sides, summarize(pairs, _infos(chosen.given)), len(pairs), sets)
    if args.json:
        print(json.dumps(motion_json(*numbers, measurements.source), indent=1))
    else:
        print_motion_scores(*numbers)
    for note in (*(f"without {reason}" for reason in sets.unavailable), *_notes(chosen, measurements, given, fits)):
        print(note, file=sys.stderr)
    if args.out:
        _write(rows["generated"], pairs, chosen, args)
    bad = [row for row in (*real.failed, *generated.failed, *failed, *rows["generated"], *pairs) if row.error]
    for row in bad:
        print(f"failed {row.error}", file=sys.stderr)
    return 1 if bad or (chosen.kinds and sets.unavailable) else 0


def _chosen(named: Sequence[str] | None, evaluator: str) -> Chosen:
    rows = default_metrics(MOTION) if named is None else []
    name = T2M if evaluator.startswith(f"{T2M}:") else EVALUATORS.find(evaluator).name
    kinds = {called: kind for kind, called in set_names(name).items()}
    for one in dict.fromkeys(named or ()):
        if one in kinds:
            continue
        if one in set_names(T2M).values():
            raise InputError(f"metrics: {one} needs the evaluator of Guo et al.; give --evaluator t2m:FOLDER.")
        if not METRICS.known(one):
            known = [*metric_names(MOTION), *kinds]
            raise InputError(
                f"metrics: {one!r} is unknown{did_you_mean(one, known)}; of motions are {', '.join(known)}."
            )
        if not metric_info(one).scores(MOTION):
            raise InputError(f"metrics: {one!r} does not score motions; choose from {', '.join(metric_names(MOTION))}.")
        rows.append(one)
    return Chosen(
        [one for one in rows if not metric_info(one).needs],
        [one for one in rows if metric_info(one).needs],
        None if named is None else [kinds[one] for one in dict.fromkeys(named) if one in kinds],
    )


def _infos(names: Sequence[str]) -> list[MetricInfo]:
    return [metric_info(name) for name in names]


def _sources(args: argparse.Namespace) -> tuple[MotionFolder | None, MotionFolder, Measurements]:
    """Real motions where they are given, generated ones, and what these were given."""
    source, measured = str(args.reconstruction or args.truth), args.measurements
    if is_sweep(source):
        generated, manifest = swept_motions(source, args.cell, args.task)
        measured = measured or manifest
    elif args.cell is not None:
        raise InputError(f"cell: {source} is no sweep's output, so that it has no cells; leave --cell out.")
    else:
        generated = read_motions(source, args.fps, args.cut)
    real = None if args.reconstruction is None else read_motions(str(args.truth), args.fps, args.cut, args.split)
    params = parse_changes(args.set, {"path": operator_settings("path")})["path"]
    if measured is not None:
        if params:
            raise InputError(f"--set: {', '.join(params)} would say what the measurements say already; leave it out.")
        return real, generated, GivenMeasurements.open(measured, args.task)
    if real is None:
        raise InputError(f"{source} stands alone: give real motions before it, or --measurements of what it was given.")
    if args.task is not None and args.task not in PATH_TASKS:
        near = did_you_mean(args.task, PATH_TASKS)
        raise InputError(f"task: {args.task!r} is none of motions{near}; choose one of {', '.join(PATH_TASKS)}.")
    own = dict(PATH_TASKS[args.task]) if args.task else {}
    return real, generated, DrawnAnew(real.clips, own | params, args.seed, args.task or "path")


def _tell(generated: MotionFolder, real: MotionFolder, given: dict[str, Given]) -> None:
    """Prompts of measurements are captions of clips that have none."""
    for folder in (generated, real):
        for name in folder.clips:
            own = folder.captions.get(name, "")
            folder.captions[name] = own or (given[name].prompt if name in given else "")


def _with_truth(one: Given, real: Tensor | None) -> Given:
    """Files of measurements hold no truth; the real clip of the same name and length is it."""
    if one.truth is not None or real is None or tuple(real.shape) != one.operator.x_shape:
        return one
    return replace(one, truth=real)


def _notes(chosen: Chosen, measurements: Measurements, given: dict[str, Given], fits: dict[str, Given]) -> list[str]:
    """What is to be known of the comparison with what was given; `fits` has it cut to clips that are shorter."""
    if not chosen.given:
        return []
    notes = []
    if cut := sum(one.operator.x_shape != given[name].operator.x_shape for name, one in fits.items()):
        notes.append(
            f"{cut} of {len(given)} motions are up to {CROPPED} frames shorter than their measurements, as loaders "
            "leave them that cut lengths to multiples of 4; each is compared over its own frames"
        )
    if isinstance(measurements, DrawnAnew):
        return [*notes, _DRAWN] if given else []
    if lacking := len(measurements) - len({measurements.id_of(name) for name in given}):
        notes.append(f"{lacking} of {len(measurements)} measurements have no motion")
    return notes


def _write(clips: Sequence[Row], pairs: Sequence[Row], chosen: Chosen, args: argparse.Namespace) -> None:
    more = {row.id: row.values for row in pairs}
    joined = [Row(row.id, row.values | more.get(row.id, {})) for row in clips]
    cell = args.cell or PurePosixPath(str(args.reconstruction or args.truth)).name
    write_scores(joined, _infos([*chosen.clips, *chosen.given]), cell, args.out)
