"""What two results were solved on and scored by, where it differs: no cell's id holds it."""

from eval.scores import PROVENANCE, ScoreTable

_WORDS = {"batch_rows": "batch"}
_LISTED = 3


def solved_on(scores: ScoreTable) -> dict[str, str]:
    """Device, batch, form of the networks, torch, threads and processor of all rows, as far as they are recorded."""
    facts = {}
    for name in PROVENANCE:
        values = scores.recorded(name)
        if values:
            listed = ", ".join(map(str, values)) if len(values) <= _LISTED else f"{values[0]} to {values[-1]}"
            facts[_WORDS.get(name, name)] = listed
    return facts


def circumstances(candidate: ScoreTable, baseline: ScoreTable) -> list[str]:
    """Notes of what differs, such as `batch 8 -> 16, torch 2.12.0 -> 2.13.0`; none where nothing recorded does."""
    before, now = solved_on(baseline), solved_on(candidate)
    changes = [
        f"{name} {before[name]} -> {now[name]}" for name in before if now.get(name, before[name]) != before[name]
    ]
    notes = [f"solved under other circumstances, which can change last bits: {', '.join(changes)}"] if changes else []
    versions = [scores.roles.scoring for scores in (baseline, candidate)]
    if None not in versions and versions[0] != versions[1]:
        notes.append(
            f"scored differently, which can change values: scoring version {versions[0]} -> {versions[1]}; "
            "`g2d2 score OUTPUT` scores an old sweep anew"
        )
    return notes
