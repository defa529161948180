"""Which work items are solved already, and by which shard: what a new plan takes over instead of solving it again."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.plan.planned_items import PlannedItems
from pipelines.plan.work_items import Held, Ids, raw_ids
from pipelines.storage import readable
from pipelines.storage.sweep_folder import SweepFolder


def finished(folder: SweepFolder, shards: set[str]) -> Held:
    """Items that these shards hold without an error."""
    names, ids = list[str](), list[Ids]()
    for shard, items, failed in _outcomes(folder, shards):
        names.append(shard)
        ids.append(items[~failed])
    rows = np.repeat(np.arange(len(ids)), [len(part) for part in ids])
    return Held(np.concatenate([raw_ids(pa.array([], pa.string())), *ids]), rows, names)


def still_held(folder: SweepFolder, plan: PlannedItems, solved: set[str], retry_failed: bool) -> Held | None:
    """Items of a written plan that need no solving; None where the plan as it is written says so already."""
    shards = plan.shards
    own = {shard.name for shard in shards}
    failures = _failures(folder, own & solved) if retry_failed else {}
    elsewhere = finished(folder, solved - own if failures or own - solved else set())
    if not failures and not len(elsewhere.ids):
        return None
    ids, waiting = raw_ids(plan.ids), np.zeros(sum(shard.count for shard in shards), dtype=bool)
    to_retry = waiting.copy()
    for shard in shards:
        rows = slice(shard.first, shard.first + shard.count)
        waiting[rows] = shard.name not in solved
        if shard.name in failures:
            to_retry[rows] = np.isin(ids[rows], failures[shard.name])
    waiting |= to_retry
    solver = elsewhere.find(ids[waiting])
    if not to_retry.any() and (solver < 0).all():
        return None
    own_rows = np.repeat(np.arange(len(shards)), [shard.count for shard in shards])
    taken = solver >= 0
    return Held(
        np.concatenate([ids[~waiting], ids[waiting][taken]]),
        np.concatenate([own_rows[~waiting], solver[taken] + len(shards)]),
        [shard.name for shard in shards] + elsewhere.names,
    )


def _failures(folder: SweepFolder, shards: set[str]) -> dict[str, Ids]:
    """Items that carry an error, of the shards that have some."""
    return {shard: items[failed] for shard, items, failed in _outcomes(folder, shards) if failed.any()}


def _outcomes(folder: SweepFolder, shards: set[str]) -> Iterator[tuple[str, Ids, NDArray[np.bool_]]]:
    """Items of solved shards, and which of them failed."""
    for shard, table in folder.read_many(sorted(shards), lambda one: folder.read_solved(one, ["item", "error"])):
        with readable(folder.store.url(folder.solved_name(shard))):
            yield shard, raw_ids(table["item"]), table["error"].is_valid().to_numpy()
