"""A finished sweep's motions of one cell, as if they lay in a folder."""

from operators import InputError, find_signal
from pipelines.manifest.motion_build_settings import MOTION
from pipelines.notebook.opened_sweep import Sweep
from pipelines.score.motion_folders import MotionFolder
from pipelines.score.picture_scores import Row
from pipelines.storage import open_store
from pipelines.storage.sweep_folder import SUMMARY


def is_sweep(source: str) -> bool:
    """Whether a folder is a sweep's output."""
    return open_store(source).exists(SUMMARY)


def swept_motions(source: str, cell: str | None, task: str | None) -> tuple[MotionFolder, str]:
    """Motions of the sweep's first seed by the ids of their measurements, and the manifest that has these."""
    sweep = Sweep.open(source)
    cells = sweep.record.cells if cell is None else sweep.matching(cell)
    cells = [one for one in cells if task in (None, one.task)]
    if len(cells) != 1:
        known = "; ".join(one.title for one in cells or sweep.record.cells)
        raise InputError(f"cell: {len(cells)} of {source} are meant; choose one with --cell and --task, of: {known}.")
    plan = sweep.stored.plan.rows.where(cell=[cells[0].id], seed=[sweep.spec.seeds[0]])
    wanted = {row["item"]: row for row in plan.select(["item", "shard", "measurement"]).to_pylist()}
    folder, stored, signal = MotionFolder({}, {}, []), sweep.stored.folder, find_signal(MOTION)
    shards = sorted({row["shard"] for row in wanted.values()} & stored.solved_shards())
    for _, table in stored.read_many(shards, lambda shard: stored.read_solved(shard, ["item", "signal", "x", "error"])):
        for row in table.to_pylist():
            if row["item"] not in wanted:
                continue
            name = wanted[row["item"]]["measurement"]
            if row["signal"] != MOTION:
                raise InputError(f"{source}: its signal is {row['signal']!r} and these are motions.")
            if row["x"] is None:
                folder.failed.append(Row(name, error=f"clip {name}: {row['error'] or 'it has no result.'}"))
                continue
            folder.clips[name] = signal.decode(row["x"], name)
            folder.captions[name] = ""
    return folder, sweep.spec.manifest
