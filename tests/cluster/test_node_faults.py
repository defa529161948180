"""Faults on several Ray nodes: lost and added ones, killed drivers, workers that die or hang. Every id exactly once."""

import os
import signal

import pytest

from bench.ray_nodes import RayNodes, wait_until
from bench.stand_in import SECONDS
from pipelines.solve.attempts import DEATHS
from tests.cluster.faulty_methods import FOLDER
from tests.cluster.ray_nodes import Sweep, values_of
from tests.pipelines.sweep_cases import build_manifest

pytestmark = pytest.mark.slow

FAULTY = "tests.cluster.faulty_methods"


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    return build_manifest(tmp_path_factory.mktemp("nodes"))


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="module")
def nodes(faults):
    with RayNodes(**{SECONDS: "1.5", FOLDER: str(faults)}) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def no_faults(faults):
    yield
    for file in faults.iterdir():
        file.unlink()


@pytest.fixture(scope="module")
def quiet(manifest, tiny_prior, nodes, tmp_path_factory):
    """The pictures of an undisturbed sweep; one work item's id depends on neither the solver's pace nor the nodes."""
    folder = tmp_path_factory.mktemp("quiet")
    nodes.keep(2)
    sweep = Sweep(nodes, values_of(manifest, tiny_prior, folder, resources={"shard": 6}), folder)
    facts, _ = sweep.end()
    assert (facts["committed"], facts["failed"]) == (24, 0)
    return sweep.pictures()


def whole(sweep, quiet):
    facts, err = sweep.end()
    assert (facts["complete"], facts["expected"], facts["duplicates"], facts["failed"]) == (True, 24, 0, 0)
    assert sweep.pictures() == quiet
    assert sweep.folder.store.list("attempts/") == []
    return err


def test_a_node_killed_in_mid_batch(nodes, manifest, tiny_prior, tmp_path, quiet):
    nodes.keep(2)
    sweep = Sweep(nodes, values_of(manifest, tiny_prior, tmp_path), tmp_path)
    sweep.wait_for_shards(3)
    nodes.kill(nodes.nodes[0])
    whole(sweep, quiet)


def test_a_node_added_while_running_works(nodes, manifest, tiny_prior, tmp_path, quiet):
    nodes.keep(1)
    sweep = Sweep(nodes, values_of(manifest, tiny_prior, tmp_path), tmp_path)
    sweep.wait_for_shards(1)
    assert len(sweep.devices()) == 1
    nodes.add()
    whole(sweep, quiet)
    assert len(sweep.devices()) == 2


def test_a_cluster_without_gpus_is_waited_for(nodes, manifest, tiny_prior, tmp_path, quiet):
    nodes.keep(0)
    waiting = {"shard": 4, "devices": 2, "wait_for_gpus": 400}
    sweep = Sweep(nodes, values_of(manifest, tiny_prior, tmp_path, resources=waiting), tmp_path)
    wait_until(lambda: sweep.folder.store.exists("sweep.json"), sweep.process)
    nodes.add()
    err = whole(sweep, quiet)
    assert "the cluster has no GPU yet" in err


def test_the_driver_killed_and_the_job_submitted_again(nodes, manifest, tiny_prior, tmp_path, quiet):
    nodes.keep(2)
    values = values_of(manifest, tiny_prior, tmp_path)
    first = Sweep(nodes, values, tmp_path)
    first.wait_for_shards(3)
    first.process.kill()
    first.process.wait()
    before = {name: first.folder.store.read_bytes(name) for name in first.folder.store.list("solved/")}
    second = Sweep(nodes, values, tmp_path)
    whole(second, quiet)
    assert all(second.folder.store.read_bytes(name) == content for name, content in before.items())


def test_workers_that_die_while_loading_end_the_sweep(nodes, manifest, tiny_prior, tmp_path, faults):
    nodes.keep(1)
    (faults / "die-loading").touch()
    sweep = Sweep(nodes, values_of(manifest, tiny_prior, tmp_path, f"{FAULTY}:HangsOnOneRow"), tmp_path)
    _, err = sweep.end(2)
    assert f"{DEATHS} workers in a row died while loading it" in err
    assert "Traceback" not in err
    assert len((faults / "die-loading").read_text().split()) == DEATHS


def test_a_worker_that_refuses_to_load_ends_the_sweep_with_its_sentence(nodes, manifest, tiny_prior, tmp_path, faults):
    nodes.keep(1)
    (faults / "refuse-loading").touch()
    sweep = Sweep(nodes, values_of(manifest, tiny_prior, tmp_path, f"{FAULTY}:HangsOnOneRow"), tmp_path)
    _, err = sweep.end(2)
    assert "weights: the disk of this node is full." in err
    assert "Traceback" not in err


def hanging(nodes, manifest, prior, folder, faults, hangs):
    nodes.keep(1)
    (faults / "hang").touch()
    (faults / "hangs").write_text(str(hangs))
    grid = {"cross": {"eta_kl": [0.001, 0.01, 0.1]}}
    resources = {"shard": 3, "batch_timeout": 8}
    options = {"grid": grid, "select": {"limit": 1}, "resources": resources}
    return Sweep(nodes, values_of(manifest, prior, folder, f"{FAULTY}:HangsOnOneRow", **options), folder)


def test_a_batch_that_hangs_once_is_named_and_solved(nodes, manifest, tiny_prior, tmp_path, faults):
    sweep = hanging(nodes, manifest, tiny_prior, tmp_path, faults, hangs=1)
    facts, err = sweep.end()
    assert (facts["committed"], facts["failed"]) == (3, 0)
    (told,) = [line for line in err.splitlines() if line.startswith("shard ")]
    assert "a batch of 3 rows took longer than resources.batch_timeout on cpu" in told
    assert all(item in told for item in sweep.pictures())


def test_a_row_that_always_hangs_is_given_up_and_its_neighbours_are_solved(
    nodes, manifest, tiny_prior, tmp_path, faults
):
    sweep = hanging(nodes, manifest, tiny_prior, tmp_path, faults, hangs=99)
    facts, _ = sweep.end(1)
    assert (facts["committed"], facts["failed"]) == (3, 1)
    batches = [int(line.split()[1]) for line in (faults / "hang").read_text().splitlines()]
    assert batches == [3, 1]
    (shard,) = sweep.folder.solved_shards()
    errors = [row["error"] for row in sweep.folder.read_solved(shard).to_pylist()]
    (error,) = [error for error in errors if error]
    assert "it took longer than resources.batch_timeout 2 times" in error


def test_a_row_that_kills_its_worker_is_given_up(nodes, manifest, tiny_prior, tmp_path, faults):
    nodes.keep(1)
    (faults / "die-solving").touch()
    options = {"grid": {"cross": {"eta_kl": [0.001, 0.1]}}, "select": {"limit": 1}, "resources": {"shard": 2}}
    sweep = Sweep(nodes, values_of(manifest, tiny_prior, tmp_path, f"{FAULTY}:DiesOnOneRow", **options), tmp_path)
    facts, err = sweep.end(1)
    assert (facts["committed"], facts["failed"]) == (2, 1)
    assert err.count("ended with its worker's death") == DEATHS


def test_random_kills_of_workers_and_nodes(nodes, manifest, tiny_prior, tmp_path, quiet):
    """What `python -m bench --only chaos` does for longer."""
    nodes.keep(2)
    sweep = Sweep(nodes, values_of(manifest, tiny_prior, tmp_path), tmp_path)
    for done in (3, 8, 12):
        sweep.wait_for_shards(done)
        worker = nodes.solver_processes()[0]
        os.kill(worker.pid, signal.SIGKILL)
        if done == 8:
            nodes.kill(nodes.nodes[0])
            nodes.add()
    whole(sweep, quiet)
