"""Which column of a table is the picture, the id, the label, and which ones prompts need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from operators import InputError
from pipelines.manifest.prompts import prompt_columns
from pipelines.manifest.settings import BuildSettings


@dataclass(frozen=True)
class Roles:
    """Which column is what."""

    image: str
    id: str | None
    label: str | None
    text: tuple[str, ...]
    """Columns that prompts need."""

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(name for name in (self.image, self.id, self.label, *self.text) if name is not None))

    def fields(self, row: Mapping[str, Any]) -> dict[str, str | None]:
        """A row's text by name; the label goes by `label` whatever its column is called."""
        fields = {name: as_text(row[name]) for name in self.text if name in row}
        return fields | {"label": as_text(row[self.label]) if self.label else None}


def find_roles(settings: BuildSettings, columns: Sequence[str], image: str) -> tuple[Roles, tuple[str, ...]]:
    """The columns' roles, and what prompts may refer to."""

    def find(setting: str, default: str) -> str | None:
        given: str | None = getattr(settings, setting)
        if given is not None and given not in columns:
            raise InputError(f"{setting}: {given!r} is not a column; there are {', '.join(columns)}.")
        return given or (default if default in columns else None)

    found = find("image_column", image)
    if found is None:
        raise InputError(f"image_column: there is no column {image!r}; there are {', '.join(columns) or 'none'}.")
    label = find("label_column", "label")
    usable = tuple(dict.fromkeys([*(name for name in columns if name != found), *(["label"] if label else [])]))
    text = tuple(name for name in prompt_columns(settings, usable) if name != "label")
    roles = Roles(found, find("id_column", "id"), label, text)
    twice = next((name for name in roles.columns if columns.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"source: {columns.count(twice)} of its columns are called {twice!r}; rename all but one.")
    return roles, usable


def as_text(value: object) -> str | None:
    """A value as it enters ids, labels and prompts."""
    return None if value is None else str(value).strip()
