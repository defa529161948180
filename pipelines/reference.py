"""The settings as editors and readers see them, made from the models: `python -m pipelines.reference docs`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from eval.metrics import metric_info, metric_names, metric_settings
from g2d2.settings import EXPERIMENTS, G2D2Settings
from operators import operator_names, operator_settings
from pipelines.nightly.spec import NightlySpec
from pipelines.spec import SweepSpec

Json = dict[str, Any]


def sweep_schema() -> Json:
    """JSON schema of a sweep's specification, with the names that only code knows: settings, metrics, experiments."""
    schema = SweepSpec.model_json_schema()
    parts, solver = schema["$defs"], G2D2Settings.model_json_schema()["properties"]
    choice = parts["SolverChoice"]["properties"]
    choice["settings"] |= {"additionalProperties": False, "properties": solver}
    choice["experiment"]["anyOf"][0]["enum"] = sorted(EXPERIMENTS["paper"])
    grid = parts["Grid"]["properties"]
    named = {"propertyNames": {"enum": list(solver)}}
    grid["cross"] |= named
    for name in ("zipped", "points", "exclude"):
        grid[name]["items"] |= named
    schema["properties"]["metrics"]["items"]["enum"] = list(metric_names())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def settings_page() -> str:
    """Every setting with its type, default and meaning, as Markdown."""
    parts = [
        "# Settings\n\nMade from the models by `python -m pipelines.reference docs`; a test keeps it current.\n",
        "## A sweep\n\nThe YAML file of `g2d2 sweep`. Editors complete and check it with "
        "`# yaml-language-server: $schema=docs/sweep.schema.json` in its first line.\n",
        *_model(SweepSpec, "###"),
        "## A nightly evaluation\n\nThe YAML file of `g2d2 nightly`.\n",
        _table(NightlySpec),
        "## The solver\n\nIn `solver.settings` and `grid` of a sweep, and in `g2d2 solve --set`.\n",
        _table(G2D2Settings),
        "## Operators\n\nIn `--operator NAME --set ...` of `g2d2 measure`, `solve` and `manifest build`.\n",
        *(f"### {name}\n\n{_table(operator_settings(name))}" for name in operator_names()),
        "## Metrics\n\nIn `metrics` of a sweep and `--metrics` of `g2d2 eval` and `g2d2 score`.\n",
        *(_metric(name) for name in metric_names()),
    ]
    return "\n".join(parts)


def _metric(name: str) -> str:
    better = {"higher": "higher is better", "lower": "lower is better", "none": "neither high nor low is better"}
    return f"### {name}\n\n{better[metric_info(name).direction].capitalize()}.\n\n{_table(metric_settings(name))}"


def _model(model: type[BaseModel], level: str) -> Iterator[str]:
    """A model's table, then those of the models inside it."""
    yield f"{level} {_spaced(model.__name__)}\n\n{_sentence(model)}\n\n{_table(model)}"
    for inner in _inner(model):
        yield from _model(inner, level)


def _inner(model: type[BaseModel]) -> list[type[BaseModel]]:
    kinds = [field.annotation for field in model.model_fields.values()]
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]


def _spaced(name: str) -> str:
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()


def _sentence(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").strip().splitlines()[0]


def _table(model: type[BaseModel]) -> str:
    schema = model.model_json_schema()
    if not schema.get("properties"):
        return "No settings.\n"
    required = set(schema.get("required", ()))
    rows = [
        f"| `{name}` | {_kind(field, schema)} | {'required' if name in required else _default(field)} "
        f"| {_escaped(' '.join(field.get('description', '').split()))} |"
        for name, field in schema["properties"].items()
    ]
    return "\n".join(["| setting | values | default | meaning |", "|---|---|---|---|", *rows, ""])


def _kind(field: Json, schema: Json) -> str:
    if "$ref" in field:
        part = schema["$defs"][field["$ref"].rsplit("/", 1)[1]]
        return _kind(part, schema) if "enum" in part else _spaced(part["title"])
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    choices = field.get("anyOf") or field.get("oneOf")
    if choices:
        return " or ".join(dict.fromkeys(_kind(choice, schema) for choice in choices if choice.get("type") != "null"))
    if field.get("type") == "array":
        return f"list of {_kind(field['items'], schema)}" if "items" in field else "list"
    words = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
    limits = [f"{word} {field[key]:g}" for key, word in words.items() if key in field]
    return ", ".join([field.get("type", "any"), *limits])


def _default(field: Json) -> str:
    if "default" not in field or isinstance(field["default"], dict):
        return ""
    return f"`{json.dumps(field['default'])}`"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def write(folder: Path) -> None:
    """Both files, into the documentation's folder."""
    (folder / "sweep.schema.json").write_text(json.dumps(sweep_schema(), indent=1) + "\n", encoding="utf-8")
    (folder / "settings.md").write_text(settings_page(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
