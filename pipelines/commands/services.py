"""`g2d2 services`: an S3 store, PostgreSQL, MLflow and a Ray head on this machine, for development."""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cluster.services.group import DEFAULT, NAMES, ServiceGroup, default_folder
from cluster.services.service import Service
from operators.errors import InputError
from pipelines.console.actions import Action, add_actions
from pipelines.console.text_table import text_table

EXAMPLE = 'g2d2 services start && eval "$(g2d2 services env)"'


def configure(parser: argparse.ArgumentParser) -> None:
    add_actions(parser, _ACTIONS)


def run(args: argparse.Namespace) -> int:
    return _ACTIONS[args.action].run(args)


def _configure_start(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    _add_choice(parser, DEFAULT)
    for service in ("store", "mlflow", "ray"):
        parser.add_argument(f"--{service}-port", type=int, metavar="PORT", help="instead of a free one")


def _configure_stop(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    _add_choice(parser, NAMES)
    parser.add_argument("--erase", action="store_true", help="remove data, logs and keys as well")


def _configure_status(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dir", type=Path, default=default_folder(), metavar="DIR", help="where they live (default: %(default)s)"
    )


def _add_choice(parser: argparse.ArgumentParser, default: Sequence[str]) -> None:
    help_ = f"only these of {', '.join(NAMES)} (default: {', '.join(default)})"
    parser.add_argument("--only", nargs="+", choices=NAMES, default=default, metavar="NAME", help=help_)


def _start(args: argparse.Namespace) -> int:
    group = ServiceGroup(args.dir, _ports(args))
    group.start(args.only, _announce)
    print(f"for clients: set -a; . {shlex.quote(str(group.environment_file))}; set +a")
    return 0


def _announce(service: Service) -> None:
    took = f"ready in {service.seconds_to_start:.1f} s" if service.seconds_to_start else "was running"
    print(f"{service.name:<9} {took:<16} {service.address()}", flush=True)


def _ports(args: argparse.Namespace) -> dict[str, int]:
    given = {name: getattr(args, f"{name}_port") for name in ("store", "mlflow", "ray")}
    ports = {name: port for name, port in given.items() if port is not None}
    for name, port in ports.items():
        if not 1024 <= port <= 55535:
            raise InputError(f"--{name}-port: {port} must be between 1024 and 55535.")
    return ports


def _stop(args: argparse.Namespace) -> int:
    stopped = ServiceGroup(args.dir).stop(args.only, args.erase)
    print(f"stopped {', '.join(stopped)}" if stopped else "nothing was running")
    return 0


def _status(args: argparse.Namespace) -> int:
    """Exit code 1 if nothing runs, so that scripts can ask."""
    rows = [_row(service) for service in ServiceGroup(args.dir).services.values()]
    if args.json:
        print(json.dumps(rows, indent=1))
    else:
        words = [[row["name"], "running" if row["running"] else "stopped", row["address"] or ""] for row in rows]
        print(text_table(words))
    return 0 if any(row["running"] for row in rows) else 1


def _row(service: Service) -> dict[str, Any]:
    running = service.running
    return {
        "name": service.name,
        "running": running,
        "address": service.address() if running else None,
        "pids": [record.pid for record in service.state.processes] if running else [],
        "log": str(service.log),
    }


def _env(args: argparse.Namespace) -> int:
    group = ServiceGroup(args.dir)
    variables = group.environment()
    if not variables:
        raise InputError(f"no service of {args.dir} is running: run `g2d2 services start` first.")
    if sys.stdout.isatty():  # keys do not belong on a screen
        print(f'run: eval "$(g2d2 services env --dir {shlex.quote(str(args.dir))})"')
        return 0
    for key, value in variables.items():
        print(f"export {key}={shlex.quote(value)};")
    return 0


_ACTIONS = {
    "start": Action("start services and wait until they serve", "g2d2 services start --only store mlflow",
                    _configure_start, _start),
    "stop": Action("stop them; data, ports and keys stay", "g2d2 services stop", _configure_stop, _stop),
    "status": Action("print which run, and where", "g2d2 services status --json", _configure_status, _status),
    "env": Action("print the variables clients need, for eval", "g2d2 services env > variables.sh    "
                  '# or at once: eval "$(g2d2 services env)"', _add_folder, _env),
}  # fmt: skip
