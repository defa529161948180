"""Where a nightly evaluation keeps what: nights, history, baselines; and what may be deleted."""

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import pyarrow as pa
from pydantic import BaseModel

from eval.scores import ScoreTable
from operators import InputError
from pipelines.nightly.records import BaselineRecord, Conditions, NightRecord, Reading, plain
from pipelines.storage import Store, open_store
from pipelines.storage.sweep_folder import read_record, read_records

_CONDITIONS = "conditions.json"


@dataclass(frozen=True)
class NightlyFolder:
    """The output of a nightly evaluation."""

    url: str
    name: str

    @cached_property
    def store(self) -> Store:
        return open_store(self.url)

    def file(self, night: str, name: str) -> str:
        """A small file of a night, kept for ever."""
        return f"history/{night}/{name}"

    def write(self, night: str, name: str, content: bytes) -> str:
        """Write a small file of a night; where it is."""
        self.store.write_bytes(self.file(night, name), content)
        return self.store.url(self.file(night, name))

    def nights(self) -> list[NightRecord]:
        """Nights that ran to their end, the oldest first."""
        names = [name for name in self.store.list("history/") if name.endswith("/night.json")]
        return sorted((read_record(self.store, name, NightRecord) for name in names), key=lambda record: record.started)

    def night(self, night: str) -> NightRecord:
        """One night's record."""
        if not self.finished(night):
            known = ", ".join(record.night for record in self.nights()[-5:]) or "none"
            raise InputError(f"night: {night!r} has not run to its end here; nights that have: {known}.")
        return read_record(self.store, self.file(night, "night.json"), NightRecord)

    def finished(self, night: str) -> bool:
        """Whether the night has a record."""
        return self.store.exists(self.file(night, "night.json"))

    def holds_sweep(self, night: str) -> bool:
        """Whether the night's reconstructions are there, or a part of them."""
        return self.store.exists(f"nights/{night}/sweep.json")

    def conditions(self, night: str) -> Conditions | None:
        """What the night was begun with; None where it was not, or by a version that did not keep it."""
        name = self.file(night, _CONDITIONS)
        return read_record(self.store, name, Conditions) if self.store.exists(name) else None

    def begin(self, night: str, conditions: Conditions) -> Conditions:
        """Note what the night is begun with; what was noted first, by whomever, holds."""
        self.store.create_new(self.file(night, _CONDITIONS), _json(conditions))
        return read_record(self.store, self.file(night, _CONDITIONS), Conditions)

    def write_night(self, record: NightRecord, scores: pa.Table) -> None:
        """The record comes last: a night in history has its scores."""
        self.store.write_table(self.file(record.night, "scores.parquet"), scores)
        self.write_record(record)

    def write_record(self, record: NightRecord) -> None:
        """A night's record alone, where its scores are written."""
        self.write(record.night, "night.json", _json(record))

    def readings(self, night: str) -> list[Reading]:
        """The night's calibration so far."""
        name = self.file(night, "calibration.json")
        if not self.store.exists(name):
            return []
        return read_records(self.store, name, Reading)

    def add_readings(self, night: str, new: list[Reading]) -> list[Reading]:
        """Readings of all parts of a night, interrupted ones included; the new ones are a turn of their own."""
        known = self.readings(night)
        turn = max((reading.turn + 1 for reading in known), default=0)
        every = [*known, *(reading.model_copy(update={"turn": turn}) for reading in new)]
        self.write(night, "calibration.json", json.dumps([plain(reading) for reading in every]).encode())
        return every

    def baselines(self) -> list[BaselineRecord]:
        """All that were accepted under this name, the present one last."""
        names = [name for name in self.store.list(f"baselines/{self.name}/") if name.endswith(".json")]
        return sorted(
            (read_record(self.store, name, BaselineRecord) for name in names), key=lambda record: record.number
        )

    def acceptances(self) -> dict[str, BaselineRecord]:
        """The newest baseline of every accepted night, by the night's name."""
        return {baseline.night.night: baseline for baseline in self.baselines()}

    def add_baseline(self, night: NightRecord, reason: str, by: str, accepted: str) -> BaselineRecord:
        """Copy a night's scores and make it the present baseline; of two at once each gets a number of its own."""
        content = self.store.read_bytes(self.file(night.night, "scores.parquet"))
        digest = blake2b(content, digest_size=16).hexdigest()
        scores = f"baselines/{self.name}/scores-{digest}.parquet"
        self.store.write_bytes(scores, content)
        number = len(self.baselines())
        while True:
            number += 1
            record = BaselineRecord(
                number=number, name=self.name, accepted=accepted, by=by, reason=reason, scores=scores,
                scores_digest=digest, night=night,
            )  # fmt: skip
            if self.store.create_new(f"baselines/{self.name}/{number:04d}.json", _json(record)):
                return record

    def baseline_scores(self, baseline: BaselineRecord) -> ScoreTable:
        """The scores as they were accepted; refused if they are not those any more."""
        content = self.store.read_bytes(baseline.scores)
        if blake2b(content, digest_size=16).hexdigest() != baseline.scores_digest:
            raise InputError(
                f"baseline {baseline.number}: {self.store.url(baseline.scores)} is not what was accepted; restore "
                "it or accept another night."
            )
        return ScoreTable(self.store.read_table(baseline.scores), where=f"baseline {baseline.number}")

    def prune(self, keep: int) -> list[str]:
        """Delete reconstructions of all but the last `keep` nights and the accepted one; their history stays."""
        nights = [record.night for record in self.nights()]
        accepted = {baseline.night.night for baseline in self.baselines()[-1:]}
        gone = []
        for night in nights[:-keep]:
            files = [] if night in accepted else self.store.list(f"nights/{night}/")
            for name in files:
                self.store.delete(name)
            gone += [night] if files else []
        return gone


def _json(record: BaseModel) -> bytes:
    return json.dumps(plain(record), indent=1, allow_nan=False).encode()
