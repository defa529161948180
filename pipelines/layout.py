"""Where a sweep keeps what: names of everything below its output URL, and what is committed there."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from operators import InputError
from pipelines.cells import Cell, from_table
from pipelines.storage import Store, open_store, readable

_READ_AHEAD = 16


@dataclass(frozen=True)
class SweepFolder:
    """A sweep's output. Shards are written whole under the plan's names for them, so writing twice changes nothing."""

    url: str

    @cached_property
    def store(self) -> Store:
        return open_store(self.url)

    def read_summary(self) -> dict[str, Any]:
        """What runs here: specification, digests, versions, the current plan and scores."""
        if not self.store.exists("sweep.json"):
            raise InputError(f"sweep {self.url}: there is no sweep here; `g2d2 sweep SPEC` makes one.")
        with readable(self.store.url("sweep.json")):
            summary: dict[str, Any] = json.loads(self.store.read_bytes("sweep.json"))
        return summary

    def write_summary(self, summary: dict[str, Any]) -> None:
        self.store.write_bytes("sweep.json", json.dumps(summary, indent=1, sort_keys=True).encode())

    def plan_name(self, plan: str) -> str:
        return f"plan/{plan}.parquet"

    def cells_name(self, plan: str) -> str:
        return f"plan/{plan}-cells.parquet"

    def solved_name(self, shard: str) -> str:
        return f"solved/{shard}.parquet"

    def scores_name(self, scoring: str, shard: str) -> str:
        return f"scores/{scoring}/{shard}.parquet"

    def references_name(self, scoring: str, chunk: str) -> str:
        return f"references/{scoring}/{chunk}.parquet"

    def references_table_name(self, plan: str, scoring: str) -> str:
        return f"references/{_short(plan)}-{scoring[:8]}.parquet"

    def features_name(self, scoring: str, network: str, shard: str) -> str:
        return f"features/{scoring}/{network}/{shard}.parquet"

    def distances_name(self, plan: str, scoring: str) -> str:
        return f"results/{_short(plan)}-{scoring[:8]}-distribution.parquet"

    def table_name(self, plan: str, scoring: str) -> str:
        return f"results/{_short(plan)}-{scoring[:8]}.parquet"

    def solved_shards(self) -> set[str]:
        """Names of the shards that are solved."""
        return self._shards("solved")

    def scored_shards(self, scoring: str) -> set[str]:
        """Names of the shards that are scored in this way."""
        return self._shards(f"scores/{scoring}")

    def reference_chunks(self, scoring: str) -> set[str]:
        """Names of the chunks of measurements that are scored in this way."""
        return self._shards(f"references/{scoring}")

    def cells(self, plan: str) -> list[Cell]:
        return from_table(self.store.read_table(self.cells_name(plan)))

    def read_solved(self, shard: str, columns: list[str] | None = None) -> pa.Table:
        name = self.solved_name(shard)
        return self.store.read_table(name) if columns is None else self.store.read_columns(name, columns)

    def read_many(self, shards: Iterable[str], read: Callable[[str], pa.Table]) -> Iterator[tuple[str, pa.Table]]:
        """Each shard with what `read` gives for it, in order; some are read ahead, since a store answers slowly."""
        with ThreadPoolExecutor(_READ_AHEAD) as pool:
            ahead: deque[tuple[str, Future[pa.Table]]] = deque()
            for shard in shards:
                ahead.append((shard, pool.submit(read, shard)))
                if len(ahead) > _READ_AHEAD:
                    name, table = ahead.popleft()
                    yield name, table.result()
            for name, table in ahead:
                yield name, table.result()

    def _shards(self, prefix: str) -> set[str]:
        names = self.store.list(f"{prefix}/")
        return {name.rsplit("/", 1)[1].removesuffix(".parquet") for name in names if name.endswith(".parquet")}


def _short(plan: str) -> str:
    """Eight digits, and the number of a plan that was written again: its results are not those of the plan before."""
    id, again, number = plan.partition(".")
    return f"{id[:8]}{again}{number}"
