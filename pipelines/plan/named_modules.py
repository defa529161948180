"""Modules of the user's own that a sweep needs: those behind names `module:thing` of its specification and manifest."""

import re
from collections.abc import Iterator

import pyarrow.compute as pc

from pipelines.manifest import Manifest
from pipelines.manifest.schema import SCHEMA
from pipelines.plan.spec_values import dotted, single_values
from pipelines.plan.sweep_spec import SweepSpec

_KEYS = {"method", "prior", "metrics", "distribution"}
"""Of a specification, at any depth: their values may be such names."""
_COLUMNS = [name for name in ("operator", "signal") if name in SCHEMA.names]
_DOTTED = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_PLACE = re.compile(rf"({_DOTTED}):{_DOTTED}")


def is_module_name(text: str) -> bool:
    """Whether a name is `module:thing`."""
    return _PLACE.fullmatch(text) is not None


def named_modules(spec: SweepSpec, manifest: Manifest | None) -> dict[str, str]:
    """Each module, such as `my_package.solver`, with the key or column that names it first.

    Those of a manifest that cannot be read here are unknown.
    """
    modules: dict[str, str] = {}
    for where, name in [*_of_specification(spec), *_of_manifest(manifest)]:
        match = _PLACE.fullmatch(name)
        if match is not None:
            modules.setdefault(match[1], where)
    return modules


def _of_specification(spec: SweepSpec) -> Iterator[tuple[str, str]]:
    for keys, value in single_values(spec.model_dump(mode="json")):
        if isinstance(value, str) and not _KEYS.isdisjoint(keys[-2:]):
            yield dotted(keys), value


def _of_manifest(manifest: Manifest | None) -> Iterator[tuple[str, str]]:
    for batch in () if manifest is None else manifest.index(_COLUMNS):
        for column in _COLUMNS:
            for name in pc.unique(batch[column]).to_pylist():
                yield f"manifest, column {column}", name
