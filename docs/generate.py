"""The settings as editors and readers see them, made from the models: `python docs/generate.py`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from eval.metrics import metric_info, metric_names, metric_settings
from g2d2.methods import METHODS, find_method
from g2d2.methods.base import kind_name
from operators import Operator, operator_names, operator_settings
from pipelines.nightly.nightly_spec import NightlySpec
from pipelines.plan.arms import SHIPPED, Choice
from pipelines.plan.sweep_spec import SweepSpec

Json = dict[str, Any]

_OWN = r"^[\w.]+:[\w.]+$"
"""`module:thing`, one of the user's own."""
_DEFAULT = Choice().method
_FREE = " \u2022"


def sweep_schema() -> Json:
    """JSON schema of a sweep's specification, with the names that only code knows: settings, presets, metrics."""
    schema = SweepSpec.model_json_schema()
    parts = schema["$defs"]
    schema["properties"]["metrics"]["anyOf"][0]["items"] = {
        "anyOf": [{"enum": list(metric_names())}, {"pattern": _OWN}]
    }
    for name in ("Choice", "Arm"):
        parts[name]["properties"]["method"] |= {"anyOf": [{"enum": list(METHODS.names())}, {"pattern": _OWN}]}
        parts[name]["allOf"] = [{"if": _names(method), "then": _of_arm(method)} for method in METHODS.names()]
    named = {name: {"properties": {"solver": _names(name)}} for name in METHODS.names()}
    needed: Json = {name: {} if name == _DEFAULT else {"required": ["solver"]} for name in named}
    schema["allOf"] = [{"if": named[name] | needed[name], "then": _of_grid(name)} for name in named]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _names(method: str) -> Json:
    """Matches what names the method, and for the default what names none."""
    return {"properties": {"method": {"const": method}}, "required": ["method"][: method != _DEFAULT]}


def _of_arm(name: str) -> Json:
    """What a method of ours adds to the schema of an arm: its settings, presets and experiments."""
    method = find_method(name)
    settings = method.Settings.model_json_schema()["properties"]
    experiments = sorted({row for rows in method.experiments.values() for row in rows})
    allowed: Json = {
        "settings": {"additionalProperties": False, "properties": settings},
        "preset": {"enum": [None, *SHIPPED, *method.presets]},
        "experiment": {"enum": [None, *experiments]},
    }
    return {"properties": allowed | _of_grid(name)["properties"]}


def _of_grid(name: str) -> Json:
    named = {"propertyNames": {"enum": list(find_method(name).Settings.model_fields)}}
    several = {key: {"items": named} for key in ("zipped", "points", "exclude")}
    return {"properties": {"grid": {"properties": {"cross": named, "search": named, **several}}}}


def settings_page() -> str:
    """Every setting with its type, default and meaning, as Markdown."""
    parts = [
        "# Settings\n\nMade from the models by `python docs/generate.py`; a test keeps it current.\n",
        "## A sweep\n\nThe YAML file of `g2d2 sweep`. Editors complete and check it with "
        "`# yaml-language-server: $schema=docs/sweep.schema.json` in its first line.\n",
        *_model(SweepSpec, "###"),
        "## A nightly evaluation\n\nThe YAML file of `g2d2 nightly`.\n",
        _table(NightlySpec),
        "## Methods\n\nIn `settings` and `grid` of an arm or of the short form's `solver`, and in `g2d2 solve --set`. "
        f"Settings marked{_FREE} are free per row of a batch: cells that differ in these alone share batches.\n",
        *(_method(name) for name in METHODS.names()),
        "## Operators\n\nIn `--operator NAME --set ...` of `g2d2 measure`, `solve` and `manifest build`.\n",
        *(f"### {name}\n\n{_table(operator_settings(name))}" for name in operator_names()),
        "## Metrics\n\nIn `metrics` of a sweep and `--metrics` of `g2d2 eval` and `g2d2 score`.\n",
        *(_metric(name) for name in metric_names()),
    ]
    return "\n".join(parts)


def _method(name: str) -> str:
    method = find_method(name)
    needs = [f"a {kind_name(method.prior)} prior"] if method.prior is not None else ["no prior"]
    needs += [] if method.operator is Operator else [f"a {kind_name(method.operator)} operator"]
    presets = f" Presets: {', '.join(f'`{preset}`' for preset in method.presets)}." if len(method.presets) > 1 else ""
    about = (method.__doc__ or "").strip().partition("\n")[0]
    return f"### {name}\n\n{about} Needs {' and '.join(needs)}.{presets}\n\n{_table(method.Settings)}"


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
        f"| `{name}`{_FREE if field.get('free') else ''} | {_kind(field, schema)} "
        f"| {'required' if name in required else _default(field)} "
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
    write(Path(__file__).parent)
