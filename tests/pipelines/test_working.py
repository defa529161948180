"""What the driver holds of a shard while work goes on: little, since there may be a hundred thousand."""

import tracemalloc
from contextlib import contextmanager
from types import SimpleNamespace

from pipelines import working
from pipelines.plan.work_items import Shard
from pipelines.schemas import LOAD_SCHEMA
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.working import Work


class Done(Work):
    """Work whose devices say at once that they are done."""

    def _stages(self, to_solve, to_score, run, watcher):
        return [(to_solve, (self._line(shard) for shard in to_solve))]

    def _line(self, shard):
        """As Ray hands it on: every text and number a new object."""
        load = dict.fromkeys(LOAD_SCHEMA.names, float(shard.first)) | {"host": f"machine {shard.first}"}
        return {"shard": f"{int(shard.name, 16):032x}", "rows": shard.count, "messages": [], "load": load}


@contextmanager
def nobody_waits(*_):
    yield lambda: None


class Waiting(Work):
    """Work whose lines never end by themselves: what nobody wants is given to no device."""

    def _stages(self, to_solve, to_score, run, watcher):
        return [(to_solve, self._lines(to_solve))]

    def _lines(self, shards):
        for shard in shards:
            yield {"shard": shard.name, "rows": shard.count, "messages": []}
        raise AssertionError("it waits for another shard, and there is none to come")


class Undisturbed:
    """Watches work that decides nothing more: all of it is wanted."""

    def scored(self, shard):
        return False

    def wants(self, shard):
        return True

    def words(self):
        return ""


def test_work_ends_with_the_last_shard_that_is_wanted_though_it_decides_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(working, "patience", nobody_waits)
    folder = SweepFolder(str(tmp_path)).remembering()
    scorer = SimpleNamespace(scoring=SimpleNamespace(id="s"), written=lambda shard: folder.scores_name("s", shard))
    plan = [Shard(f"{number:032x}", 16 * number, 16) for number in range(3)]
    assert not folder.solved_shards() | folder.scored_shards("s")
    Waiting(None, folder, None, scorer).run(plan, Undisturbed())
    assert folder.scored_shards("s") == {shard.name for shard in plan}


def held(place, shards):
    """Bytes at the peak of a run over so many shards, beyond the plan's own."""
    folder = SweepFolder(str(place)).remembering()
    scorer = SimpleNamespace(scoring=SimpleNamespace(id="s"), written=lambda shard: folder.scores_name("s", shard))
    plan = [Shard(f"{number:032x}", 16 * number, 16) for number in range(shards)]
    assert not folder.solved_shards() | folder.scored_shards("s")  # listed, as `check` lists them before
    tracemalloc.start()
    Done(None, folder, None, scorer).run(plan)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert folder.solved_shards() == folder.scored_shards("s") == {shard.name for shard in plan}
    return peak


def test_a_shard_more_costs_the_driver_little(tmp_path, monkeypatch):
    monkeypatch.setattr(working, "patience", nobody_waits)
    held(tmp_path / "first", 10)  # imports
    few, many = (held(tmp_path / str(count), count) for count in (8_000, 64_000))
    assert (many - few) / 56_000 < 400
