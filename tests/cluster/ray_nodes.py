"""What the tests of faults on several nodes share: sweeps on a cluster, and what became of them."""

import json

from bench.ray_nodes import wait_until
from pipelines.storage.sweep_folder import SweepFolder
from tests.pipelines.sweep_cases import specification, write_spec

PACED = "bench.stand_in:Paced"


class Sweep:
    """A sweep on a cluster of local nodes: started, watched, finished."""

    def __init__(self, nodes, values, folder):
        self.nodes, self.folder = nodes, SweepFolder(values["output"])
        self.path = write_spec(folder / "spec.yaml", values)
        self.process = nodes.start_sweep(self.path)

    def wait_for_shards(self, count):
        wait_until(lambda: len(self.folder.solved_shards()) >= count, self.process)

    def end(self, code=0):
        """What it printed: facts from stdout where there are some, and stderr."""
        out, err = self.process.communicate(timeout=500)
        assert self.process.returncode == code, err
        return (json.loads(out) if out.strip() else None), err

    def devices(self):
        """How many rows each worker process has committed."""
        counts = {}
        for shard in self.folder.solved_shards():
            for row in self.folder.read_solved(shard, ["device"]).to_pylist():
                counts[row["device"]] = counts.get(row["device"], 0) + 1
        return counts

    def pictures(self):
        return pictures(self.folder)


def values_of(manifest, prior, folder, method=PACED, **changes):
    """The small sweep with a solver that can be disturbed; every row a shard of its own unless told otherwise."""
    values = specification(manifest, prior, folder / "o", resources={"shard": 1})
    return values | {"solver": values["solver"] | {"method": method}} | changes


def pictures(folder):
    """The reconstruction of every work item, each exactly once."""
    rows = [row for shard in folder.solved_shards() for row in folder.read_solved(shard, ["item", "x"]).to_pylist()]
    found = {row["item"]: row["x"] for row in rows}
    assert len(found) == len(rows)
    return found
