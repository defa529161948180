"""What the winner of a race is worth on measurements that had no part in choosing it."""

from collections.abc import Collection

from eval.record.race_words import Confirmation
from eval.scores import ScoreTable
from eval.statistics import bootstrap_interval
from eval.statistics.shared_rows import taken


def confirmed_on(scores: ScoreTable, race: str, cell: str, aside: Collection[str]) -> Confirmation:
    """By the digests of these measurements."""
    apart, means = frozenset(aside), {}
    for name in scores.judged:
        column = scores.values(cell, name)
        part = taken(column, [row for row, digest in enumerate(column.digests.tolist()) if digest in apart])
        if part.finite.any():
            means[name] = bootstrap_interval(part.values, part.measurements, share=scores.info(name).share)
    return Confirmation(race, cell, len(apart), means, apart)
