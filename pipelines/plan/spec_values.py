"""The single values of a specification with the keys that lead to each, at whatever depth."""

from collections.abc import Callable, Iterator
from typing import Any

Keys = tuple[str | int, ...]
"""From the outermost key on; a number is a place in a list."""


def single_values(values: Any, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Every value that is neither a mapping nor a list, in order."""
    for key, value in _entries(values):
        if isinstance(value, dict | list):
            yield from single_values(value, (*keys, key))
        else:
            yield (*keys, key), value


def with_values(values: Any, change: Callable[[Keys, Any], Any], keys: Keys = ()) -> Any:
    """The same mappings and lists with `change` of every single value."""
    if isinstance(values, dict):
        return {key: with_values(value, change, (*keys, key)) for key, value in values.items()}
    if isinstance(values, list):
        return [with_values(value, change, (*keys, index)) for index, value in enumerate(values)]
    return change(keys, values)


def dotted(keys: Keys) -> str:
    """`solver.method`, as messages name a key; places in lists are left out."""
    return ".".join(key for key in keys if isinstance(key, str))


def _entries(values: Any) -> list[tuple[str | int, Any]]:
    return list(values.items()) if isinstance(values, dict) else list(enumerate(values))
