"""What decides a night's numbers, and what of it differs: a night that was begun goes on under its own alone."""

from collections.abc import Iterable
from typing import Any

from operators.plurals import counted
from pipelines.manifest import Manifest
from pipelines.nightly.facts import differences, method_versions
from pipelines.nightly.records import Conditions
from pipelines.plan.chosen_metrics import chosen_metrics
from pipelines.plan.planning import outline
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.score.scorings import SCORING_VERSION

_SHOWN = 6


def night_conditions(sweep: SweepSpec) -> Conditions:
    """Of a night's sweep, as its manifest and its prior are now."""
    manifest = Manifest.open(sweep.manifest)
    lines = outline(sweep, manifest)
    facts = {
        "scoring version": SCORING_VERSION,
        "method": method_versions(sweep),
        "precision": sweep.resources.dtype,
        "compile": sweep.resources.compile,
        "channels_last": sweep.resources.channels_last,
        "prior digest": ", ".join(lines.priors.values()) or "none",
        "manifest digest": lines.manifest_digest,
        "seeds": _listed(sorted(sweep.seeds)),
        "select.tasks": "all" if sweep.select.tasks is None else _listed(sorted(sweep.select.tasks)),
        "select.skip": sweep.select.skip,
        "select.limit": "none" if sweep.select.limit is None else sweep.select.limit,
        "metrics": _listed(sorted(chosen_metrics(sweep, manifest))),
        "distribution": _listed(sorted(sweep.distribution)) or "none",
    }
    cells = [{"task": cell.task} | cell.settings for cell in lines.cells]
    return Conditions(facts={name: str(value) for name, value in facts.items()}, cells=cells)


def what_differs(before: Conditions, now: Conditions) -> str | None:
    """`iterations 6 -> 8, seeds 0 -> 0, 1`; None where nothing does."""
    changes = [*differences(before.facts, now.facts), *_other_cells(before.cells, now.cells)]
    more = len(changes) - _SHOWN
    return ", ".join([*changes[:_SHOWN], *([f"and {more} more"] if more > 0 else [])]) or None


def _other_cells(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[str]:
    if sorted(map(repr, map(_sorted, before))) == sorted(map(repr, map(_sorted, now))):
        return []
    names = dict.fromkeys(name for cell in (*before, *now) for name in cell)
    values = {name: (_values(before, name), _values(now, name)) for name in names}
    changes = differences(
        {name: _listed(old) for name, (old, new) in values.items() if set(old) != set(new)},
        {name: _listed(new) for name, (old, new) in values.items() if set(old) != set(new)},
    )
    return changes or [f"other combinations of settings, {counted(len(before), 'cell')} -> {len(now)}"]


def _sorted(cell: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(cell.items())


def _values(cells: list[dict[str, Any]], name: str) -> list[str]:
    return list(dict.fromkeys(str(cell.get(name)) for cell in cells))


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(map(str, values))
