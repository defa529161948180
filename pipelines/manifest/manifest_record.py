"""`manifest.json`: written last, it says that a manifest is complete and what it holds."""

import json
from typing import Any

from pydantic import BaseModel, ConfigDict

from operators import InputError, validate
from pipelines.manifest.schema import FORMAT_VERSION
from pipelines.storage import Store

SUMMARY_NAME = "manifest.json"


class Shard(BaseModel):
    """One Parquet file of the manifest."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    name: str
    """File name beside manifest.json."""

    rows: int
    """Measurements in it."""


class Rejected(BaseModel):
    """A source that is not in the manifest."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    source: str
    """Its id."""

    tasks: list[str]
    """The tasks that go without it."""

    reason: str
    """One sentence."""


class Summary(BaseModel):
    """All of manifest.json."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    format_version: int = FORMAT_VERSION
    """Version of the schema."""

    rows: int
    """Measurements in all shards."""

    tasks: list[str]
    """Names of the tasks, in the order they were asked for."""

    task_rows: dict[str, int] = {}
    """Measurements of each task."""

    without_truth: dict[str, int] = {}
    """Those of them that have no ground truth, by task; a task whose rows all have one is absent."""

    signals: list[str] = ["image"]
    """What is measured, by name."""

    digest: str
    """Over the digests of all rows; the same however the rows are sharded."""

    shards: list[Shard]
    """The Parquet files, in order."""

    rejected: list[Rejected]
    """What could not be measured, and why."""

    built: dict[str, Any]
    """Settings and version of the program that built it."""


def read_summary(store: Store) -> Summary | None:
    """What manifest.json says; None without one; an InputError if it is damaged or of another version."""
    if not store.exists(SUMMARY_NAME):
        return None
    try:
        values = json.loads(store.read_bytes(SUMMARY_NAME))
    except ValueError:
        raise InputError(f"manifest {store.url()}: its {SUMMARY_NAME} is not JSON; build it again.") from None
    version = values.get("format_version") if isinstance(values, dict) else None
    if version != FORMAT_VERSION:
        raise InputError(
            f"manifest {store.url()}: its format_version is {version!r} and this program reads {FORMAT_VERSION}; "
            "build it again with the same command and --overwrite: the measurements will be the same."
        )
    summary: Summary = validate(Summary, values, where=f"manifest {store.url(SUMMARY_NAME)}")
    return summary


def write_summary(store: Store, summary: Summary) -> None:
    store.write_bytes(SUMMARY_NAME, summary.model_dump_json(indent=1).encode() + b"\n")
