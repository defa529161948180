"""A search as the store keeps it: what each batch proposed, which stays so, and all trials for those who watch."""

from pydantic import BaseModel, ConfigDict

from operators.plurals import counted
from pipelines.plan.grid import Point
from pipelines.storage.sweep_folder import SweepFolder, read_record


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Batch(_Model):
    """The cells of one race: written before it begins and never again, whatever a later version would propose."""

    stayed: list[Point]
    """Those that were still in after the batch before."""

    proposed: list[Point]
    by: str
    """Whose proposals they are."""

    @property
    def points(self) -> list[Point]:
        return [*self.stayed, *self.proposed]


class Trial(_Model):
    """A cell that was proposed."""

    settings: Point
    batch: int
    """From 1."""

    seen: int
    """Measurements in all batches."""

    behind: float | None
    """How much worse than the leader it is, on one scale for all batches; None where nothing of it was scored."""

    left: int | None
    """The batch, from 1, in which it left; None where it is still in."""

    missing_since: int | None = None
    """The batch, from 1, that was proposed without it because failed rows were solved again only later; nobody beats
    it, and it has not raced from there on."""


class SearchRecord(_Model):
    """All trials of a search, after the last batch whose race is over."""

    batches: int
    of_batches: int
    of_trials: int
    metric: str
    leader: Point | None
    trials: list[Trial]

    @property
    def sentence(self) -> str:
        """`batch 2 of 4 is over, 16 of 32 trials, 5 still in`."""
        inside = sum(one.left is None and one.missing_since is None for one in self.trials)
        missing = sum(one.missing_since is not None for one in self.trials)
        trials = f"{len(self.trials)} of {counted(self.of_trials, 'trial')}"
        words = f"batch {self.batches} of {self.of_batches} is over, {trials}, {inside} still in"
        return f"{words}, {missing} unbeaten but missing in later batches" if missing else words


def keep_batch(folder: SweepFolder, search: str, number: int, batch: Batch) -> Batch:
    """What holds: this batch, or the one that somebody wrote before."""
    data = batch.model_dump_json(indent=1).encode()
    if folder.store.create_new(folder.batch_name(search, number), data):
        return batch
    return read_record(folder.store, folder.batch_name(search, number), Batch)


def read_batch(folder: SweepFolder, search: str, number: int) -> Batch | None:
    """None where it is not proposed yet."""
    name = folder.batch_name(search, number)
    return read_record(folder.store, name, Batch) if folder.store.exists(name) else None


def write_trials(folder: SweepFolder, search: str, record: SearchRecord) -> None:
    folder.store.write_bytes(folder.trials_name(search), record.model_dump_json(indent=1).encode())


def read_trials(folder: SweepFolder, search: str | None) -> SearchRecord | None:
    """None where a sweep is no search, or none of its batches is over."""
    if search is None or not folder.store.exists(folder.trials_name(search)):
        return None
    return read_record(folder.store, folder.trials_name(search), SearchRecord)
