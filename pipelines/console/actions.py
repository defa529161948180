"""Commands with a second word, such as `g2d2 prior list`."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Action:
    """What a second word does."""

    summary: str
    example: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def add_actions(parser: argparse.ArgumentParser, actions: Mapping[str, Action]) -> None:
    """One subcommand per action, each with its example; the chosen one is in `args.action`."""
    children = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, action in actions.items():
        child = children.add_parser(
            name,
            help=action.summary,
            description=action.summary.capitalize() + ".",
            epilog=f"example:\n  {action.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        action.configure(child)
