"""What the commands share: pictures to work on, the operator, `--set key=value`."""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from operators import TASKS, InputError, Operator, build_operator, operator_names, operator_settings
from operators.colours import BACKGROUNDS
from operators.plain_yaml import parse_yaml
from operators.tasks import LARGEST_SIGMA
from operators.validation import did_you_mean


def add_measurement_options(parser: argparse.ArgumentParser, motion_tasks: Iterable[str]) -> None:
    """Options that decide the measurement, the same for every command that makes one."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--operator", metavar="NAME", help=f"forward operator: {', '.join(operator_names())}")
    choice.add_argument(
        "--task", metavar="NAME", help=f"operator, its settings and sigma by name: {', '.join(TASKS)}; of motions "
        f"{', '.join(motion_tasks)}"
    )  # fmt: skip
    parser.add_argument(
        "--sigma", type=float, metavar="S", help="noise level on [-1, 1] (default: the task's, or 0.05); of motions "
        "in metres (default: 0)"
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="seed of all random draws (default: 0)")
    parser.add_argument("--resize", action="store_true", help="crop and resize pictures that do not fit")
    add_background_option(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the results")


def add_background_option(parser: argparse.ArgumentParser) -> None:
    """What to do with transparent pictures, the same for every command that reads people's pictures."""
    parser.add_argument(
        "--background", choices=BACKGROUNDS, help="put behind transparent pictures, which are refused without it"
    )


@dataclass(frozen=True)
class Degradation:
    """An operator by name with its settings, and the noise level."""

    operator: str
    params: dict[str, Any]
    sigma: float
    image_size: int | None
    """Side the task is meant for; None accepts any."""

    own_seed: bool = False
    """Whether every picture's own seed is among the operator's settings."""

    def build(self, x_shape: Sequence[int], seed: int = 0) -> Operator:
        """The operator for a picture with this seed; the same for all where nothing is drawn."""
        drawn = {"seed": seed} if self.own_seed else {}
        return build_operator(self.operator, self.params | drawn, x_shape=x_shape)


def degradation(args: argparse.Namespace, changes: Mapping[str, Any]) -> Degradation:
    """The operator and noise that `--operator` or `--task`, `--sigma` and `--set` describe together."""
    if args.task is not None and args.task not in TASKS:
        near = did_you_mean(args.task, TASKS)
        raise InputError(f"task: {args.task!r} is unknown{near}; choose one of {', '.join(TASKS)}.")
    if args.task is None and args.operator is None:
        raise InputError("one of --operator and --task is required: it says what was measured.")
    task = TASKS[args.task] if args.task is not None else None
    name = task.operator if task else args.operator
    operator_settings(name)
    sigma = args.sigma if args.sigma is not None else (task.sigma if task else 0.05)
    if not 0 <= sigma <= LARGEST_SIGMA:
        raise InputError(f"sigma: {sigma} must be finite and at least 0, and at most {LARGEST_SIGMA:g}.")
    params = dict(task.params if task else {}) | dict(changes)
    own_seed = task is not None and task.own_seed and "seed" not in changes
    return Degradation(name, params, sigma, task.image_size if task else None, own_seed)


def parse_changes(words: Sequence[str], models: Mapping[str, type[BaseModel]]) -> dict[str, dict[str, Any]]:
    """`key=value` words sorted to the settings model that knows the key; values are read as YAML scalars."""
    changes: dict[str, dict[str, Any]] = {name: {} for name in models}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals:
            raise InputError(f"--set: {word!r} is not key=value; put pictures before the options.")
        owner = next((name for name, model in models.items() if key in model.model_fields), None)
        if owner is None:
            known = "; ".join(f"{name}: {', '.join(model.model_fields) or 'none'}" for name, model in models.items())
            near = did_you_mean(key, [field for model in models.values() for field in model.model_fields])
            raise InputError(f"--set: {key!r} is not a setting{near}; known are {known}.")
        if key in changes[owner]:
            raise InputError(f"--set: {key!r} is given twice; give it once.")
        changes[owner][key] = parse_yaml(text, f"--set: the value of {word!r}").content
    return changes


def unique_stems(paths: Sequence[Path]) -> dict[str, Path]:
    """Inputs by the name their results will carry."""
    stems: dict[str, Path] = {}
    for path in paths:
        stem = path.name.removesuffix(".npy").removesuffix("-measurement") if path.suffix == ".npy" else path.stem
        if stem in stems:
            raise InputError(f"images: {stems[stem]} and {path} would both write {stem!r}; rename one.")
        stems[stem] = path
    return stems


def report_refused(command: str, reasons: Sequence[InputError], inputs: int) -> int:
    """Print why each input was refused; the exit code: 0 none was, 1 some were, 2 nothing could be done."""
    for reason in reasons:
        print(f"g2d2 {command}: {reason}", file=sys.stderr)
    return 0 if not reasons else 1 if len(reasons) < inputs else 2


def item_seed(seed: int, stem: str) -> int:
    """A picture's own seed: by its name, so that neither order nor company matters."""
    return int.from_bytes(blake2b(f"{seed}/{stem}".encode(), digest_size=7).digest(), "big")
