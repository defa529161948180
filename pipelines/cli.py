"""The `g2d2` command."""

import argparse
import io
import os
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any, NoReturn

from g2d2.version import __version__
from operators import InputError
from operators.credentials import masked
from pipelines.console.interrupts import INTERRUPTED, sigterm_interrupts

COMMANDS = {
    "demo": "a real sweep on the embedded prior, with nothing to prepare",
    "measure": "degrade pictures, or see key points of motions, and store the measurements",
    "solve": "restore pictures, or stored measurements, with a prior",
    "eval": "compare reconstructions with their ground truths",
    "manifest": "measure a data set once; show and check what was stored",
    "plan": "print what a sweep would run and cost",
    "sweep": "solve, score and track a grid of settings over a manifest",
    "submit": "run a sweep as a job of a Ray cluster; follow, stop or resume it",
    "status": "say how far a sweep is",
    "score": "score a sweep's reconstructions again, or with other metrics",
    "report": "show a sweep on one page, with figures and tables for papers",
    "site": "put several sweeps and nights on static pages, compared where they saw the same",
    "tune": "choose the best of a sweep's settings, and keep them with the prior",
    "track": "log a sweep to MLflow, or finish a logging that was interrupted",
    "prior": "list, fetch, check and convert priors",
    "services": "run a local S3 store, PostgreSQL, MLflow and Ray for development",
    "cluster": "make cluster files for AWS, GCP and KubeRay from one set of values",
    "compare": "hold scored results against a baseline and find what became worse",
    "nightly": "evaluate every night, compare with an accepted baseline, say what became worse",
    "paper": "run the paper's experiments in small or in full, and write its tables",
    "doctor": "check that this machine is ready, and say what is missing",
    "completion": "print a script that completes commands and options in your shell",
}


class Parser(argparse.ArgumentParser):
    """Refuses words without repeating the secrets of an address, and with the nearest of the names allowed."""

    def error(self, message: str) -> NoReturn:
        super().error(masked(message))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices = None if action.choices is None else [str(choice) for choice in action.choices]
        if choices is not None and value not in action.choices:  # type: ignore[operator]
            from operators.validation import did_you_mean  # with pydantic, which help does without

            near = did_you_mean(value, choices)
            raise argparse.ArgumentError(action, f"{value!r} is unknown{near}; choose one of {', '.join(choices)}")


def build_parser(chosen: Collection[str]) -> argparse.ArgumentParser:
    """All commands by name; only the chosen ones are imported, since priors and Ray take seconds to load."""
    parser = Parser(
        prog="g2d2", description="Inverse problems with discrete-diffusion priors: solve, evaluate, compare."
    )
    parser.add_argument("--version", action="version", version=f"g2d2 {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        child = commands.add_parser(name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name in chosen:
            module = import_module(f"pipelines.commands.{name}")
            child.description = f"{summary[:1].upper()}{summary[1:]}."  # capitalize() would write s3 and postgresql
            child.epilog = f"example:\n  {module.EXAMPLE}"
            module.configure(child)
            child.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Exit codes: 0 all good, 1 some results failed, 2 could not run, 130 interrupted, 143 ended by SIGTERM."""
    words = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # file names may be no text
    with sigterm_interrupts() as final_code:
        return final_code(_run(words))


def _run(words: list[str]) -> int:
    chosen = [word for word in words if word in COMMANDS][:1]
    name = " ".join(["g2d2", *chosen])
    try:
        args = build_parser(chosen).parse_args(words or ["--help"])
        code: int = args.run(args)
        if sys.stdout is not None:
            sys.stdout.flush()  # a full disk or a reader who left shows itself here, not after the last word
    except InputError as error:
        print(masked(f"{name}: {error}"), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted; finished results are kept, the same command goes on", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left, as `| head` does
        return 0
    except OSError as error:
        sentence = InputError(f"{name}: {error.strerror or error}: {error.filename or 'the system'} refused.")
        print(masked(str(sentence)), file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
