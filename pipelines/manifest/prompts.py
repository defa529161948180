"""Which prompt a row gets: a constant, a column, or a template over columns."""

from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Protocol

from operators import InputError

Fields = Mapping[str, str | None]
"""A source's columns as text, with its label as `label`."""


class PromptSettings(Protocol):
    """What decides prompts, in the settings of pictures and of motions."""

    @property
    def prompt(self) -> str | None:
        """One for all."""

    @property
    def prompt_column(self) -> str | None:
        """Column of prompts."""

    @property
    def prompt_template(self) -> str | None:
        """A prompt with columns' names in braces."""


PromptRule = Callable[[Fields], str]

_DEFAULT_COLUMNS = ("prompt", "caption")


def prompt_columns(settings: PromptSettings, columns: Sequence[str]) -> list[str]:
    """The columns the prompts need, each of which must be there."""
    if settings.prompt is not None:
        return []
    if settings.prompt_column is not None:
        return [_known(settings.prompt_column, columns, "prompt_column")]
    if settings.prompt_template is not None:
        return [_known(name, columns, "prompt_template") for _, name in _parse(settings.prompt_template) if name]
    return [name for name in _DEFAULT_COLUMNS if name in columns][:1]


def prompt_rule(settings: PromptSettings, columns: Sequence[str]) -> PromptRule:
    """From a source's columns to its prompt; an InputError where the template meets an empty column."""
    chosen = prompt_columns(settings, columns)
    if settings.prompt is not None:
        constant = settings.prompt
        return lambda fields: constant
    if settings.prompt_template is not None:
        parts = _parse(settings.prompt_template)
        return lambda fields: "".join(literal + _filled(name, fields) for literal, name in parts)
    return lambda fields: (fields[chosen[0]] or "") if chosen else ""


def _parse(template: str) -> list[tuple[str, str | None]]:
    """Literal text and the column after it. Only plain names: Python's own formatting would look inside objects."""
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise InputError(f"prompt_template is {template!r}: {error}; write {{{{ and }}}} for braces.") from None
    for _, name, spec, conversion in parts:
        if spec or conversion or name == "":
            raise InputError(f"prompt_template is {template!r}: braces may hold a column's name and nothing else.")
    return [(literal, name) for literal, name, _, _ in parts]


def _known(name: str, columns: Sequence[str], setting: str) -> str:
    if name not in columns:
        raise InputError(f"{setting}: {name!r} is not a column; there are {', '.join(columns) or 'none'}.")
    return name


def _filled(name: str | None, fields: Fields) -> str:
    if name is None:
        return ""
    value = fields[name]
    if value is None:
        raise InputError(f"its column {name!r} is empty and the prompt template needs it.")
    return value
