"""Prompts of priors without a text encoder: the class of an image, or nothing at all. Imports no model library."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from operators.errors import InputError
from operators.validation import did_you_mean, shorten

CLASSES_FILE = "classes.json"
"""Names of the classes, in the order of their numbers: a list, or {"names": [...], "null": number}."""


def no_prompt(prompt: str, guidance: float) -> str | None:
    """Why an unconditional prior does not take a prompt; with guidance 0 none is read."""
    if not prompt.strip() or guidance == 0:
        return None
    return "is of no use to a prior that is unconditional; leave prompts out, or set guidance to 0"


@dataclass(frozen=True)
class ClassLabels:
    """The classes a prior knows."""

    count: int
    names: tuple[str, ...] = ()
    null: int | None = None
    """The class that stands for none, where the prior was trained with one."""

    def label(self, prompt: str) -> int:
        """The number of a class from its number or name; an empty prompt is the null class."""
        text = prompt.strip()
        if not text and self.null is not None:
            return self.null
        if text in self.names:
            return self.names.index(text)
        if text.isdecimal() and text.isascii() and int(text) < self.count:
            return int(text)
        raise InputError(f"prompt: {shorten(prompt)} {self._refusal(text)}.")

    def misfit(self, prompt: str, guidance: float) -> str | None:
        """Why a prompt with a guidance scale is none that the prior takes."""
        if guidance != 1 and self.null is None:
            return f"cannot have guidance {guidance:g}: the prior knows no class that stands for none, so it must be 1"
        if guidance == 0:
            return None
        try:
            self.label(prompt)
        except InputError:
            return self._refusal(prompt.strip())
        return None

    def _refusal(self, text: str) -> str:
        known = f"a number from 0 to {self.count - 1}"
        if self.names:
            known += f" or a name of its {CLASSES_FILE}, such as {self.names[0]!r}"
        return f"is none of the prior's {self.count} classes{did_you_mean(text, self.names)}; give {known}"


def read_classes(folder: Path, count: int) -> ClassLabels:
    """The classes of a prior with so many of them, with the names its folder gives them."""
    path = folder / CLASSES_FILE
    if not path.is_file():
        return ClassLabels(count)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"prior: {path} is not readable JSON ({' '.join(str(error).split())[:120]}).") from None
    if isinstance(content, list):
        content = {"names": content}
    names = content.get("names", []) if isinstance(content, dict) else None
    null = content.get("null") if isinstance(content, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
        raise InputError(f'prior: {path} must be a list of names, or {{"names": [...], "null": number}}.')
    return ClassLabels(count, _checked(names, count, path), _checked_null(null, count, path))


def _checked(names: Sequence[str], count: int, path: Path) -> tuple[str, ...]:
    names = [name.strip() for name in names]
    if len(names) > count or len(set(names)) != len(names):
        raise InputError(f"prior: {path} has {len(names)} names; they must be distinct, and up to {count}.")
    return tuple(names)


def _checked_null(null: object, count: int, path: Path) -> int | None:
    if null is None:
        return None
    if not isinstance(null, int) or isinstance(null, bool) or not 0 <= null < count:
        raise InputError(f"prior: {path} has null {shorten(null)}; it must be the number of a class, below {count}.")
    return null
