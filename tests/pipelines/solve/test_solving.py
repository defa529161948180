"""A device's work by itself: what is a row's fault, and what is not."""

import gc
import json
import shutil
import weakref
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file, save_file

from operators import InputError
from operators.validation import validate
from pipelines.manifest import content_digest, read_row
from pipelines.plan.planning import make_plan
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.score.scoring import ShardScorer
from pipelines.score.scorings import Scoring
from pipelines.solve.attaching import Attach
from pipelines.solve.solving import LoadedPrior, ShardSolver, ShardWork, SolverConfig
from pipelines.storage import StoreError
from pipelines.storage.sweep_folder import SweepFolder
from tests.pipelines.sweep_cases import build_manifest, specification


@pytest.fixture
def planned(small_manifest, tiny_prior, tmp_path):
    """A sweep with a prior of its own."""
    prior = shutil.copytree(tiny_prior, tmp_path / "prior")
    values = specification(small_manifest, prior, tmp_path / "o")
    spec = validate(SweepSpec, values, where="specification")
    return spec, make_plan(spec, SweepFolder(spec.output))


def device(spec, plan):
    return ShardSolver(SolverConfig(spec.output, plan.priors, spec.resources, spec.keep, threads=None))


@pytest.fixture
def work(planned):
    """A device, its first shard and the rows of it."""
    return attached(*planned)


def attached(spec, plan, run="", shard=None):
    """A device, the plan's first shard, or another, and its rows, as a run reads them."""
    shard = shard or plan.shards[0]
    refs = pa.table({"shard": [shard.name], "first": [shard.first], "count": [shard.count]})
    (stream,) = Attach(spec.output, spec.manifest, plan.id, run)(refs)["items"]
    items = pa.ipc.open_stream(stream.as_buffer()).read_all()
    return device(spec, plan), shard.name, [read_row(items, row) for row in range(len(items))]


def errors(solver, shard):
    return solver.folder.read_solved(shard, ["error"])["error"].to_pylist()


def test_the_first_shard_says_that_the_prior_was_loaded(work):
    solver, shard, rows = work
    (message,) = solver(shard, rows)["messages"]
    assert "prior" in message
    assert solver(shard, rows)["messages"] == []
    assert errors(solver, shard) == [None] * 5


def test_a_prior_that_is_let_go_is_gone_before_the_next_is_loaded(work, tiny_prior):
    """It holds functions of its own, and a GPU has no room for two."""
    solver, _, rows = work
    held = weakref.ref(solver.hold(rows[0]["prior"]).prior)
    assert held() is not None
    gc.disable()
    try:
        solver.hold("")
        assert held() is None
    finally:
        gc.enable()


def test_what_was_compiled_for_a_prior_is_let_go_with_it(work):
    """CUDA graphs keep their memory, and torch counts graphs per class of prior."""
    solver, made = work[0], []
    solver.config = replace(solver.config, resources=solver.config.resources.model_copy(update={"compile": True}))
    compiled = torch.compile(torch.sin, backend=lambda graph, _: made.append(graph) or graph.forward)
    for name, graphs in (("", 1), ("", 1), ("one", 2)):
        solver.loaded = LoadedPrior(name, None, None)
        solver.hold("")
        compiled(torch.zeros(3))
        assert len(made) == graphs


def test_networks_are_compiled_for_guidance_before_the_rows_are_solved(work, monkeypatch):
    """What is compiled in between would count as seconds of the rows, and against their time."""
    solver, shard, rows = work
    resources = solver.config.resources.model_copy(update={"batch": 3, "compile": True})
    solver.config = replace(solver.config, resources=resources)
    monkeypatch.setattr(torch, "compile", lambda plain, **_: plain)
    tried = []

    class Noticing(ShardWork):
        def _attempt(self, batch):
            tried.append(len(self.loaded.prior._denoise.tried))
            return super()._attempt(batch)

    monkeypatch.setattr("pipelines.solve.solving.ShardWork", Noticing)
    scales = [5.0, 1.0, 1.0, 1.0, 1.0]
    guided = [
        row | {"settings": json.dumps(json.loads(row["settings"]) | {"guidance": scale})}
        for row, scale in zip(rows, scales, strict=True)
    ]
    solver(shard, guided)
    assert tried == [2, 2]  # three passes, and six
    assert len(solver.loaded.prior._denoise.tried) == 2


@pytest.mark.parametrize(("compiled", "sizes"), [(False, [3, 2]), (True, [3, 3])])
def test_a_short_batch_is_filled_up_where_networks_are_compiled(work, monkeypatch, compiled, sizes):
    """Another size would be compiled anew; what fills it up is no row's and no cost's."""
    solver, shard, rows = work
    resources = solver.config.resources.model_copy(update={"batch": 3})
    solver.config = replace(solver.config, resources=resources)
    solver.hold(rows[0]["prior"])  # what the networks are compiled to is not of interest here
    solver.config = replace(solver.config, resources=resources.model_copy(update={"compile": compiled}))
    method, seen = solver.method("g2d2"), []
    real = method.run
    monkeypatch.setattr(method, "run", lambda *args, **options: seen.append(len(args[2])) or real(*args, **options))
    assert solver(shard, rows)["failed"] == 0
    assert seen == sizes
    assert len(errors(solver, shard)) == 5


def test_a_bad_row_fails_alone_in_its_batch(work, monkeypatch):
    solver, shard, rows = work
    method, bad = solver.method("g2d2"), rows[2]["solver_seed"]
    real = method.run

    def picky(*args, seeds, **options):
        if bad in seeds:
            raise RuntimeError("not this one")
        return real(*args, seeds=seeds, **options)

    monkeypatch.setattr(method, "run", picky)
    line = solver(shard, rows)
    same = [row["solver_seed"] == bad for row in rows]
    assert line["failed"] == sum(same)
    assert [error is not None for error in errors(solver, shard)] == same


def test_a_measurement_that_was_changed_since_fails_its_rows_alone(tiny_prior, tmp_path):
    """The digest beside it is the old one: nobody sees the change but who hashes the content."""
    manifest = build_manifest(tmp_path, pictures=2)
    spec = validate(SweepSpec, specification(manifest, tiny_prior, tmp_path / "o"), where="specification")
    plan = make_plan(spec, SweepFolder(spec.output))
    (file,) = (tmp_path / "manifest").glob("*.parquet")
    original = file.read_bytes()
    table = pq.read_table(file)
    rows = table.to_pylist()
    rows[1]["y"][0] += 0.25
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), file)
    solver, shard, items = attached(spec, plan)
    solver(shard, items)
    found = [(item["measurement"], error) for item, error in zip(items, errors(solver, shard), strict=True)]
    digest = rows[1]["digest"][:12]
    assert {error for name, error in found if name == "gaussian_blur/p1"} == {
        f"gaussian_blur/p1: its content is not what its digest {digest} says, so it was changed after it was built; "
        "build the manifest again."
    }
    assert {error for name, error in found if name == "gaussian_blur/p0"} == {None}

    file.write_bytes(original)
    solver, shard, items = attached(spec, plan, run="second")
    solver(shard, items)
    assert errors(solver, shard) == [None] * 5
    rows[1]["y"][0] -= 0.25
    rows[1]["sigma"] = 0.5
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), file)
    ShardScorer(spec.output, spec.manifest, Scoring.of(["psnr", "residual"]))(shard)
    (scores,) = (tmp_path / "o").rglob(f"scores/**/{shard}.parquet")
    for row in pq.read_table(scores).to_pylist():
        assert (row["error"] is None) == (row["measurement"] == "gaussian_blur/p0")
        assert (
            row["error"] is None or "not scored: gaussian_blur/p1: its content is not what its digest" in row["error"]
        )


def test_absurd_rows_of_a_manifest_fail_alone(tiny_prior, tmp_path):
    """Their digests fit, as in a manifest that somebody else's program wrote."""
    manifest = build_manifest(tmp_path, pictures=5)
    (file,) = (tmp_path / "manifest").glob("*.parquet")
    table = pq.read_table(file)
    rows = table.to_pylist()
    rows[0]["operator_params"] = '{"std":' + "[" * 50_000 + "]" * 50_000 + "}"
    rows[1]["x_shape"] = [3, 2**31 - 1, 2**31 - 1]
    rows[3]["x_shape"] = [3, 8]
    rows[4]["operator"] = "nowhere"
    signed = [row | {"digest": content_digest(row)} for row in rows]
    pq.write_table(pa.Table.from_pylist(signed, schema=table.schema), file)
    values = specification(manifest, tiny_prior, tmp_path / "o", resources={"shard": 100, "devices": 1})
    spec = validate(SweepSpec, values, where="specification")
    plan = make_plan(spec, SweepFolder(spec.output))
    failures = {}
    for shard in plan.shards:
        solver, name, items = attached(spec, plan, shard=shard)
        solver(name, items)
        for item, error in zip(items, errors(solver, name), strict=True):
            failures.setdefault(item["measurement"].rpartition("/")[2], set()).add(error)
    assert failures["p2"] == {None}
    for name, part in {
        "p0": "it is nested too deeply",
        "p1": "no side may be above 16384",
        "p3": "three positive integers",
        "p4": "operator is 'nowhere'",
    }.items():
        (error,) = failures[name]
        assert part in error
        assert len(error) < 300


@pytest.mark.parametrize("setting", ["learning_rate", "eta_kl"])
def test_a_row_that_diverges_fails_alone_and_leaves_its_neighbours_as_they_were(work, setting):
    solver, shard, rows = work
    solver(shard, rows)
    before = solver.folder.read_solved(shard, ["x"])["x"].to_pylist()
    rows[1] |= {"settings": json.dumps({**json.loads(rows[1]["settings"]), setting: 1e308})}
    assert solver(shard, rows)["failed"] == 1
    solved = solver.folder.read_solved(shard, ["x", "error"]).to_pylist()
    assert "its losses became NaN or infinite at noise level t = " in solved[1]["error"]
    assert solved[1]["x"] is None
    for index in (0, 2, 3, 4):
        assert solved[index] == {"x": before[index], "error": None}


def test_a_prior_that_was_trained_anew_since_the_plan_is_refused(planned):
    spec, plan = planned
    path = Path(spec.prior) / "vqvae" / "diffusion_pytorch_model.safetensors"
    tensors = load_file(path)
    tensors["decoder.conv_out.bias"] += 1
    save_file(tensors, path, metadata={"format": "pt"})
    solver, shard, rows = attached(spec, plan)
    with pytest.raises(InputError, match=f"planned with {plan.priors[spec.prior][:12]}: its files were changed since"):
        solver(shard, rows)
    assert not solver.folder.solved_shards()


def test_a_store_that_is_away_is_no_rows_fault(work, monkeypatch):
    solver, shard, rows = work

    def away(*_):
        raise StoreError("store: it is away.")

    monkeypatch.setattr("pipelines.solve.solving.Attempts.begin", away)
    with pytest.raises(StoreError):
        solver(shard, rows)
    assert not solver.folder.solved_shards()


def test_a_broken_device_ends_its_worker_instead_of_failing_every_row(work, monkeypatch):
    solver, shard, rows = work
    ended = []

    def broken(*_, **__):
        raise torch.AcceleratorError("an illegal memory access was encountered")

    def end(code):
        ended.append(code)
        raise SystemExit(code)

    monkeypatch.setattr(solver.method("g2d2"), "run", broken)
    monkeypatch.setattr("os._exit", end)
    with pytest.raises(SystemExit):
        solver(shard, rows)
    assert ended == [1]
    assert not solver.folder.solved_shards()
