"""The ways in which a sweep's folder was scored: the specification's own, and what `g2d2 score` has added to it."""

from collections.abc import Collection, Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict

from operators import InputError
from operators.validation import validate
from pipelines.plan.item_ids import fingerprint
from pipelines.storage.sweep_folder import SweepFolder

SCORING_VERSION = 3
"""Raised when a score's value changes for the same images, or a table's columns do."""
_ADDED = "added_scorings"
"""Where `sweep.json` keeps them, in the order in which they were asked for."""


class Scoring(BaseModel):
    """Metrics and distances that are computed together, under the id that their files carry."""

    model_config = ConfigDict(frozen=True, strict=True)

    id: str
    metrics: list[str]
    distribution: list[str] = []

    @classmethod
    def of(cls, metrics: Iterable[str], distribution: Iterable[str] = ()) -> "Scoring":
        names, distances = list(metrics), list(distribution)
        return cls(id=scoring_id(names, distances), metrics=names, distribution=distances)

    @property
    def names(self) -> set[str]:
        """Of all its columns."""
        return {*self.metrics, *self.distribution}


def scoring_id(metrics: Collection[str], distribution: Collection[str] = ()) -> str:
    """Scores of other metrics, or of another version, never mix with these."""
    return fingerprint("scoring", SCORING_VERSION, sorted(metrics), *([sorted(distribution)] if distribution else []))


def known_scorings(folder: SweepFolder, summary: dict[str, Any] | None = None) -> list[Scoring]:
    """The specification's own first, then the others; a name that two of them have is the earlier one's."""
    summary = folder.read_summary() if summary is None else summary
    where = f"sweep {folder.store.url('sweep.json')}"
    spec = summary["specification"]
    own: Scoring = validate(
        Scoring,
        {"id": summary["scoring"], "metrics": spec.get("metrics"), "distribution": spec.get("distribution", [])},
        where=where,
    )
    stored = summary.get(_ADDED, [])
    if not isinstance(stored, list):
        raise InputError(f"{where}: {_ADDED} must be a list; it is damaged.")
    added: list[Scoring] = [validate(Scoring, entry, where=f"{where}: {_ADDED}") for entry in stored]
    return [own, *(one for one in added if one.id != own.id)]


def added_record(scorings: Iterable[Scoring], own: Scoring) -> dict[str, Any]:
    """Scorings besides the sweep's own as `sweep.json` keeps them; those of an earlier version are left behind."""
    kept = {one.id: one for one in scorings if one.id == scoring_id(one.metrics, one.distribution) != own.id}
    return {_ADDED: [one.model_dump() for one in kept.values()]}


def chosen_scorings(known: list[Scoring], metrics: Collection[str], distribution: Collection[str]) -> list[Scoring]:
    """Those that hold any of these names, and one of the names that none holds yet."""
    there = set().union(*(one.names for one in known))
    missing = [[name for name in names if name not in there] for names in (metrics, distribution)]
    wanted = {*metrics, *distribution}
    return [one for one in known if one.names & wanted] + ([Scoring.of(*missing)] if any(missing) else [])
