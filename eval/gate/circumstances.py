"""What two results were solved on, where it differs: no id holds it, and yet it can change the last bits."""

import pyarrow.compute as pc

from eval.scores import PROVENANCE, ScoreTable

_WORDS = {"batch_rows": "batch"}
_LISTED = 3


def solved_on(scores: ScoreTable) -> dict[str, str]:
    """Device, batch, form of the networks, torch, threads and processor of all rows, as far as they are recorded."""
    facts = {}
    for name in PROVENANCE:
        column = scores.table[name] if name in scores.table.column_names else None
        values = [] if column is None else sorted(value for value in pc.unique(column).to_pylist() if value is not None)
        if values:
            listed = ", ".join(map(str, values)) if len(values) <= _LISTED else f"{values[0]} to {values[-1]}"
            facts[_WORDS.get(name, name)] = listed
    return facts


def circumstances(candidate: ScoreTable, baseline: ScoreTable) -> list[str]:
    """One note of what differs, such as `batch 8 -> 16, torch 2.12.0 -> 2.13.0`; none where nothing recorded does."""
    before, now = solved_on(baseline), solved_on(candidate)
    changes = [
        f"{name} {before[name]} -> {now[name]}" for name in before if now.get(name, before[name]) != before[name]
    ]
    return [f"solved under other circumstances, which can change last bits: {', '.join(changes)}"] if changes else []
