"""`g2d2 completion`: a script for the shell, made once; completing then starts no Python."""

import argparse
from collections.abc import Iterator, Mapping, Sequence

import shtab

from eval.distribution import distribution_names
from eval.metrics import metric_names
from g2d2.methods import METHODS, find_method
from g2d2.priors.catalog import CATALOG
from operators import TASKS, operator_names
from pipelines import cli
from pipelines.plan.arms import SHIPPED

EXAMPLE = """g2d2 completion bash > ~/.local/share/bash-completion/completions/g2d2
  g2d2 completion zsh > ~/.zfunc/_g2d2    # a folder of your $fpath"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=shtab.SUPPORTED_SHELLS, help="whose script to print")


def run(args: argparse.Namespace) -> int:
    parser, names = cli.build_parser(cli.COMMANDS), _names()
    for action in _actions(parser):
        if action.choices is None and action.dest in names:
            action.choices = names[action.dest]  # offered here alone: elsewhere folders and hub ids are allowed too
    print(shtab.complete(parser, shell=args.shell))
    return 0


def _names() -> Mapping[str, Sequence[str]]:
    """What may stand for an argument, by the name argparse has for it."""
    tasks, priors, metrics = list(TASKS), list(CATALOG), metric_names()
    return {
        "task": tasks,
        "tasks": tasks,
        "operator": operator_names(),
        "metrics": [*metrics, *distribution_names("image")],
        "distribution": distribution_names(),
        "tolerance": [f"{metric}=" for metric in metrics],
        "prior": priors,
        "start": priors,
        "method": METHODS.names(),
        "preset": _of_methods("presets"),
        "experiment": _of_methods("experiments"),
    }


def _of_methods(kind: str) -> list[str]:
    """Presets, or the experiments of all presets, of every method that is known by name."""
    methods = [find_method(name) for name in METHODS.names()]
    if kind == "presets":
        return list(dict.fromkeys([*SHIPPED, *(preset for method in methods for preset in method.presets)]))
    rows = (row for method in methods for rows in method.experiments.values() for row in rows)
    return list(dict.fromkeys(rows))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Every argument of a command and of those below it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from _actions(child)
