"""Where a sweep keeps what: names of everything below its output URL, and what is committed there."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, field_validator

from operators import InputError
from operators.validation import validate
from pipelines.plan.cells import Cell, from_table
from pipelines.schemas import CELLS
from pipelines.storage import Store, open_store, readable

SUMMARY = "sweep.json"
TOP = (
    SUMMARY, "tracking.json", "plan/", "race/", "search/", "solved/", "scores/", "references/", "features/", "results/",
    "attempts/", "load/", "report/", "mlflow.db", "mlartifacts/",
)  # fmt: skip
"""All that commands write directly into an output; a database may have companions, as `mlflow.db-journal`."""

Record = TypeVar("Record", bound=BaseModel)
Read = TypeVar("Read")


class _Summary(BaseModel):
    """The entries of `sweep.json` that commands rely on; it holds others too."""

    model_config = ConfigDict(extra="allow", strict=True)

    specification: dict[str, Any]
    plan: str = Field(pattern=r"^[0-9a-f]{32}(\.[1-9][0-9]*)?$")
    scoring: str = Field(pattern=r"^[0-9a-f]{32}$")
    items: int
    cells: int
    measurements: int
    manifest_digest: str
    priors: dict[str, str]
    version: str
    environment: dict[str, Any] = {}

    @field_validator("specification")
    @classmethod
    def _named(cls, value: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(value.get("name"), str):
            raise ValueError("it must have a name")
        return value


@dataclass(frozen=True)
class SweepFolder:
    """A sweep's output. Shards are written whole under the plan's names for them, so writing twice changes nothing."""

    url: str
    _listed: dict[str, set[str]] | None = field(default=None, compare=False, repr=False)

    def remembering(self) -> "SweepFolder":
        """The same output, each of whose folders is listed once; `committed` adds what workers write meanwhile."""
        return SweepFolder(self.url, {})

    def committed(self, name: str) -> None:
        """A worker has written the file of this name."""
        folder, _, file = name.rpartition("/")
        if self._listed is not None and folder in self._listed:
            self._listed[folder].add(file.removesuffix(".parquet"))

    def delete(self, name: str) -> None:
        """Remove a file, and remember that it is gone."""
        self.store.delete(name)
        folder, _, file = name.rpartition("/")
        if self._listed is not None and folder in self._listed:
            self._listed[folder].discard(file.removesuffix(".parquet"))

    @cached_property
    def store(self) -> Store:
        return open_store(self.url)

    def read_summary(self) -> dict[str, Any]:
        """What runs here: specification, digests, versions, the current plan and scores."""
        if not self.store.exists(SUMMARY):
            raise InputError(f"sweep {self.url}: there is no sweep here; `g2d2 sweep SPEC` makes one.")
        with readable(self.store.url(SUMMARY)):
            content = json.loads(self.store.read_bytes(SUMMARY))
        if isinstance(content, dict) and "priors" not in content and "prior_digest" in content:
            raise InputError(
                f"sweep {self.url}: an earlier version of this program made it, whose files this one does not read; "
                "give another output, or use that version."
            )
        return read_record(self.store, SUMMARY, _Summary).model_dump(exclude_unset=True)

    def write_summary(self, summary: dict[str, Any]) -> None:
        """In the order of the specification: its arms are shown as they were written."""
        self.store.write_bytes(SUMMARY, json.dumps(summary, indent=1).encode())

    def plan_name(self, plan: str) -> str:
        return f"plan/{plan}.parquet"

    def cells_name(self, plan: str) -> str:
        return f"plan/{plan}-cells.parquet"

    def race_name(self, plan: str) -> str:
        return f"race/{plan}.json"

    def batch_name(self, search: str, number: int) -> str:
        return f"search/{search}/{number}.json"

    def trials_name(self, search: str) -> str:
        return f"search/{search}/trials.json"

    def solved_name(self, shard: str) -> str:
        return f"solved/{shard}.parquet"

    def load_name(self, run: str, part: int) -> str:
        return f"load/{run}/{part}.parquet"

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

    def feature_shards(self, scoring: str, network: str) -> set[str]:
        """Names of the shards whose features by this network are stored."""
        return self._shards(f"features/{scoring}/{network}")

    def reference_chunks(self, scoring: str) -> set[str]:
        """Names of the chunks of measurements that are scored in this way."""
        return self._shards(f"references/{scoring}")

    def cells(self, plan: str) -> list[Cell]:
        name = self.cells_name(plan)
        with readable(self.store.url(name)):
            return from_table(self.store.read_table(name, columns=CELLS.names))

    def read_solved(self, shard: str, columns: list[str] | None = None) -> pa.Table:
        name = self.solved_name(shard)
        return self.store.read_table(name) if columns is None else self.store.read_columns(name, columns)

    def read_many(self, shards: Iterable[str], read: Callable[[str], Read]) -> Iterator[tuple[str, Read]]:
        """Each shard with what `read` gives for it, in order; some are read ahead, since a store answers slowly."""
        with ThreadPoolExecutor(self.store.readers) as pool:
            ahead: deque[tuple[str, Future[Read]]] = deque()
            for shard in shards:
                ahead.append((shard, pool.submit(read, shard)))
                if len(ahead) > self.store.readers:
                    name, table = ahead.popleft()
                    yield name, table.result()
            for name, table in ahead:
                yield name, table.result()

    def _shards(self, prefix: str) -> set[str]:
        known = None if self._listed is None else self._listed.get(prefix)
        if known is None:
            names = self.store.list(f"{prefix}/")
            known = {name.rsplit("/", 1)[1].removesuffix(".parquet") for name in names if name.endswith(".parquet")}
            if self._listed is not None:
                self._listed[prefix] = known
        return set(known)


def _short(plan: str) -> str:
    """Eight digits, and the number of a plan that was written again: its results are not those of the plan before."""
    id, again, number = plan.partition(".")
    return f"{id[:8]}{again}{number}"


def read_record(store: Store, name: str, model: type[Record]) -> Record:
    """A small JSON object of an output; one sentence names it where it is damaged."""
    with readable(store.url(name)):
        return _as_record(json.loads(store.read_bytes(name)), model)


def read_records(store: Store, name: str, model: type[Record]) -> list[Record]:
    """A small JSON list of such objects."""
    with readable(store.url(name)):
        entries = json.loads(store.read_bytes(name))
        if not isinstance(entries, list):
            raise ValueError("it must be a list")
        return [_as_record(values, model) for values in entries]


def _as_record(values: Any, model: type[Record]) -> Record:
    try:
        record: Record = validate(model, values, where="it is not as it was written")
    except InputError as error:
        raise ValueError(str(error).rstrip(".")) from None
    return record
