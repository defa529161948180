"""`g2d2 nightly`: evaluate tonight, hold it against the accepted baseline, and exit with 1 where it became worse."""

import argparse
import getpass
import json
import os
import sys
from pathlib import Path

from operators import InputError
from operators.pictures import write_bytes
from pipelines.console.terminal import results_alone
from pipelines.console.text_table import text_table
from pipelines.nightly import (
    NightlyFolder,
    NightlySpec,
    accept,
    choose_night,
    load_nightly,
    night_today,
    run_night,
)
from pipelines.nightly.night_text import markdown, message, terminal, verdict_json
from pipelines.nightly.records import plain
from pipelines.nightly.webhook import post
from pipelines.solve.patience import announce
from pipelines.track import TrackingError

EXAMPLE = (
    "g2d2 nightly examples/nightly.yaml\n"
    '  g2d2 nightly accept examples/nightly.yaml --night 2026-11-17 --reason "new prior, 0.3 dB better"\n'
    "  g2d2 nightly history examples/nightly.yaml"
)
ACTIONS = ("run", "accept", "history")
_OF_ACTION = {
    "reason": "accept",
    "by": "accept",
    "new": "run",
    "retry_failed": "run",
    "junit": "run",
    "markdown": "run",
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="+",
        metavar="[accept|history] SPEC",
        help="the evaluation, a YAML file: run or resume tonight's; `accept` makes a night the baseline, `history` "
        "lists nights and baselines",
    )
    parser.add_argument("--night", help="the night's name (default: today, UTC; for accept the newest)")
    parser.add_argument("--new", action="store_true", help="evaluate once more although this day has a night")
    parser.add_argument("--retry-failed", action="store_true", help="solve failed rows again")
    parser.add_argument("--reason", help="why a night is accepted; kept in history")
    parser.add_argument("--by", help="who accepts (default: the user's name)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write JUnit XML here")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the Markdown summary here")


def run(args: argparse.Namespace) -> int:
    """0 nothing became worse, or a first night. 1 something did, is missing or failed. 2 could not run."""
    action, path = _parsed(args)
    spec = load_nightly(path)
    if action == "accept":
        return _accept(spec, args)
    return _history(spec, args) if action == "history" else _run(spec, path, args)


def _parsed(args: argparse.Namespace) -> tuple[str, str]:
    words = args.words if args.words[0] in ACTIONS else ["run", *args.words]
    if len(words) != 2:
        raise InputError(f"nightly: {' '.join(args.words)!r} is not one SPEC, accept SPEC or history SPEC.")
    for option, action in _OF_ACTION.items():
        if getattr(args, option) and action != words[0]:
            raise InputError(f"--{option.replace('_', '-')}: it does not go with {words[0]!r}; leave it out.")
    return words[0], words[1]


def _run(spec: NightlySpec, path: str, args: argparse.Namespace) -> int:
    night = args.night or night_today()
    try:
        with results_alone():
            from pipelines.nightly.keeping import keep_night

            chosen = choose_night(
                spec, night, named=args.night is not None, new=args.new, retry_failed=args.retry_failed
            )
            night = chosen.night
            if chosen.notice is not None:
                announce(chosen.notice)
            found, files, warnings = keep_night(spec, run_night(spec, chosen, retry_failed=args.retry_failed), path)
    except Exception as error:  # whatever it was, nobody may take silence for a good night
        said = str(error) if isinstance(error, InputError) else type(error).__name__
        _post(spec, {"text": f"nightly {spec.name}, night {night}: could not run: {said}", "exit_code": 2})
        raise
    if args.junit is not None:
        from pipelines.nightly.keeping import junit

        _write(args.junit, junit(found))
    if args.markdown is not None:
        _write(args.markdown, markdown(found, path))
    print(verdict_json(found, files) if args.json else f"{terminal(found, path)}\n{files['summary.md']}")
    code = found.record.exit_code
    facts = {"night": night, "outcome": found.record.outcome, "exit_code": code, "summary": files["summary.md"]}
    _post(spec, {"text": message(found), "name": spec.name} | facts)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return code


def _accept(spec: NightlySpec, args: argparse.Namespace) -> int:
    if args.reason is None:
        raise InputError("--reason is missing: say why these numbers are right, for whoever reads the history.")
    baseline = accept(spec, args.reason, args.by or _user(), args.night)
    try:
        from pipelines.nightly.mirror import mirror

        with results_alone():
            shown = mirror(spec, baseline)
    except TrackingError as error:
        shown = None
        print(f"warning: the baseline is accepted, but MLflow does not show it: {error}", file=sys.stderr)
    if args.json:
        print(json.dumps(plain(baseline) | {"mlflow": shown}))
    else:
        print("\n".join([baseline.sentence(), *([f"tagged in MLflow: {shown}"] if shown else [])]))
    return 0


def _history(spec: NightlySpec, args: argparse.Namespace) -> int:
    folder = NightlyFolder(spec.output, spec.name)
    nights, baselines = folder.nights(), folder.baselines()
    if args.json:
        print(json.dumps({"nights": [plain(night) for night in nights], "baselines": [plain(b) for b in baselines]}))
        return 0
    rows = [
        [n.night, n.started, f"{n.committed}/{n.expected}", str(n.failed), str(n.baseline or "-"), n.outcome]
        for n in nights
    ]
    print(text_table(rows, ["night", "started", "items", "failed", "baseline", "outcome"]))
    print("\n".join(baseline.sentence() for baseline in baselines) or "no baseline is accepted yet")
    return 0


def _post(spec: NightlySpec, content: dict[str, object]) -> None:
    if spec.webhook is not None and (warning := post(spec.webhook, content)):
        print(f"warning: {warning}", file=sys.stderr)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(text.encode(), path)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # containers run under numbers without names
        return f"user {os.getuid()}"
