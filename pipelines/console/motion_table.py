"""Scores of real and generated motions as a table and as JSON; the real ones' row always stands first."""

from collections.abc import Sequence
from typing import Any

from eval.embedding_sets import SetScore
from pipelines.console.text_table import text_table
from pipelines.score.motion_folders import SetScores

Summary = list[dict[str, Any]]


def print_motion_scores(sides: dict[str, tuple[int, Summary]], paths: Summary, pairs: int, sets: SetScores) -> None:
    """Per side the clips' numbers with intervals; then paths and sets."""
    names = [entry["metric"] for _, summary in sides.values() for entry in summary]
    lines = [[side, str(count), *(_mean(entry) for entry in summary)] for side, (count, summary) in sides.items()]
    print(text_table(lines, ["motions", "clips", *dict.fromkeys(names)]))
    if pairs:
        print("\n" + text_table([[f"{pairs} pairs", *map(_mean, paths)]], ["", *(entry["metric"] for entry in paths)]))
    scores = {score.name: score for score in [*sets.generated, *sets.real]}
    if scores:
        lines = [[side, *(_set(name, own) for name in scores)]
                 for side, own in (("real", sets.real), ("generated", sets.generated))]  # fmt: skip
        print("\n" + text_table(lines, ["motions", *scores]))


def motion_json(
    sides: dict[str, tuple[int, Summary]], paths: Summary, pairs: int, sets: SetScores, measurements: str | None
) -> dict[str, Any]:
    """The same numbers; `measurements` is where key points were read, and null where they were drawn anew."""
    return {
        **{side: {"clips": count, "summary": summary} for side, (count, summary) in sides.items()},
        "paths": {"pairs": pairs, "measurements": measurements, "summary": paths},
        "sets": {side: [vars(score) for score in getattr(sets, side)] for side in ("real", "generated")},
        "unavailable": sets.unavailable,
    }


def _mean(entry: dict[str, Any]) -> str:
    if entry["mean"] is None:
        return "-"
    unit = f" {entry['unit']}" if entry["unit"] else ""
    interval = "" if entry["low"] is None else f" [{entry['low']:.4f}, {entry['high']:.4f}]"
    return f"{entry['mean']:.4f}{unit}{interval}"


def _set(name: str, scores: Sequence[SetScore]) -> str:
    score = next((one for one in scores if one.name == name), None)
    if score is None:
        return "-"
    return f"{score.mean:.4f}" + ("" if score.interval is None else f" ± {score.interval:.4f}")
