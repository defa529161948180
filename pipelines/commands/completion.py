"""`g2d2 completion`: a script for the shell, made once; completing then starts no Python."""

import argparse

import shtab

from pipelines import cli

EXAMPLE = """g2d2 completion bash > ~/.local/share/bash-completion/completions/g2d2
  g2d2 completion zsh > ~/.zfunc/_g2d2    # a folder of your $fpath"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=shtab.SUPPORTED_SHELLS, help="whose script to print")


def run(args: argparse.Namespace) -> int:
    print(shtab.complete(cli.build_parser(cli.COMMANDS), shell=args.shell))
    return 0
