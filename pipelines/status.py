"""How far a sweep is, from what is committed in its store."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from pipelines.layout import SweepFolder
from pipelines.plan import read_shards


@dataclass(frozen=True)
class Status:
    """Counts of work items."""

    name: str
    items: int
    solved: int
    scored: int
    failed: int
    errors: dict[str, int]
    """Sentences of failed rows, the most frequent first."""

    def record(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def read_status(folder: SweepFolder) -> Status:
    """Reads the names of committed shards, and the errors in the scored ones."""
    summary = folder.read_summary()
    shards, items = read_shards(folder, summary["plan"])
    solved, scored = folder.solved_shards(), folder.scored_shards(summary["scoring"])
    errors: Counter[str] = Counter()
    for shard in shards:
        if shard.name in scored:
            table = folder.store.read_table(folder.scores_name(summary["scoring"], shard.name), columns=["error"])
            errors.update(error for error in table["error"].to_pylist() if error is not None)
    return Status(
        name=summary["specification"]["name"],
        items=items,
        solved=sum(shard.count for shard in shards if shard.name in solved),
        scored=sum(shard.count for shard in shards if shard.name in scored),
        failed=errors.total(),
        errors=dict(errors.most_common(10)),
    )
