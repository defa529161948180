"""Deblurring, super-resolution and inpainting in one manifest, one sweep and one command."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from g2d2.priors.vq_diffusion.random_weights import TINY, random_components
from operators import TASKS, validate
from pipelines import cli
from pipelines.manifest import Manifest, build_row_operator, decode_truth, measurement, read_row
from pipelines.plan.planning import make_plan
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.score.scoring import ShardScorer
from pipelines.score.scorings import Scoring
from pipelines.solve.attaching import Attach
from pipelines.solve.solving import ShardSolver, SolverConfig
from pipelines.storage.sweep_folder import SweepFolder
from tests.pipelines.sweep_cases import specification, write_spec

MIXED = ("sr4-32", "gaussian-deblur-32", "inpaint-box-32", "inpaint-random-32")
SOLVER = ["--set", "steps=3", "iterations=2", "guidance=1"]


def run(*words):
    return cli.main([str(word) for word in words])


@pytest.fixture(scope="module")
def prior(tmp_path_factory):
    """Random weights for 32x32 images."""
    folder = tmp_path_factory.mktemp("prior32")
    random_components(replace(TINY, token_side=16)).save(folder)
    return folder


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    url = tmp_path_factory.mktemp("mixed") / "manifest"
    assert run("manifest", "build", "cifar10-heldout", url, "--task", *MIXED, "--limit", 3, "--prompt", "a b") == 0
    return url


def rows_of(url):
    stored = Manifest.open(str(url))
    places = [(row["shard"], row["row"]) for batch in stored.index(["id"]) for row in batch.to_pylist()]
    table = stored.fetch(places)
    return [read_row(table, row) for row in range(len(places))]


def test_every_inpainting_task_exists_in_both_sizes():
    for size in (32, 256):
        box = TASKS[f"inpaint-box-{size}"].build()
        assert box.x_shape == (3, size, size)
        assert box.measurement_count == 3 * size * size * 3 // 4
        random = TASKS[f"inpaint-random-{size}"].build(seed=5)
        assert random.measurement_count == 3 * round(0.3 * size * size)
        assert random.settings.seed == 5


def test_random_masks_follow_from_the_rows_seed(manifest, tmp_path, capsys):
    rows = [row for row in rows_of(manifest) if row["task"] == "inpaint-random-32"]
    assert len(rows) == 3
    seeds = [json.loads(row["operator_params"])["seed"] for row in rows]
    assert seeds == [row["seed"] for row in rows]
    masks = [build_row_operator(row).mask for row in rows]
    assert not any((masks[0] == other).all() for other in masks[1:])
    for row, mask in zip(rows, masks, strict=True):
        y, truth = measurement(row), decode_truth(row)
        assert (y[:, ~mask[0, 0]] == 0).all()
        assert abs(float((y - truth)[:, mask[0, 0]].std()) - 0.05) < 0.01
    again = ["manifest", "build", "cifar10-heldout", tmp_path / "m", "--task", "inpaint-random-32", "--limit", 2]
    again += ["--prompt", "a b"]
    assert run(*again) == 0
    assert [row["digest"] for row in rows_of(tmp_path / "m")] == [row["digest"] for row in rows[:2]]
    assert run(*again, "--seed", 1, "--overwrite") == 0
    assert not (build_row_operator(rows_of(tmp_path / "m")[0]).mask == masks[0]).all()
    assert run("manifest", "check", manifest) == 0


def test_a_sheet_shows_all_tasks(manifest, tmp_path, capsys):
    assert run("manifest", "show", manifest, "--rows", 4, "--sheet", tmp_path / "sheet.png") == 0
    table = capsys.readouterr().out.split("\n\n")[1].splitlines()[1:]
    assert [line.split()[1] for line in table] == [*MIXED]
    sheet = np.asarray(Image.open(tmp_path / "sheet.png"))
    box = sheet[176:336, 2 * 168 + 8 : 3 * 168]  # below the third truth
    assert (box[40:120, 40:120] == 128).all()


def swept_specification(manifest, prior, output):
    resources = {"shard": 5, "batch": 4, "devices": 1}
    return specification(manifest, prior, output, resources=resources, grid={"cross": {"process": ["star", "markov"]}})


def check_scores(files):
    """Every measurement of every task once per process, solved and scored."""
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    assert {row["error"] for row in rows} == {None}
    assert all(np.isfinite(row["psnr"]) and np.isfinite(row["residual"]) for row in rows)
    names = [(row["measurement"], row["process"]) for row in rows]
    assert len(set(names)) == len(names) == 3 * len(MIXED) * 2
    assert {row["task"] for row in rows} == set(MIXED)


def test_a_device_solves_and_scores_all_tasks(manifest, prior, tmp_path):
    """What a sweep does, without Ray: rows with other masks share a batch, rows of other operators do not."""
    values = swept_specification(manifest, prior, tmp_path / "o")
    spec = validate(SweepSpec, values, where="specification")
    plan = make_plan(spec, SweepFolder(spec.output))
    solver = ShardSolver(SolverConfig(spec.output, plan.priors, spec.resources, spec.keep, threads=None))
    scorer = ShardScorer(spec.output, spec.manifest, Scoring.of(spec.metrics))
    for shard in plan.shards:
        refs = pa.table({"shard": [shard.name], "first": [shard.first], "count": [shard.count]})
        (stream,) = Attach(spec.output, spec.manifest, plan.id)(refs)["items"]
        items = pa.ipc.open_stream(stream.as_buffer()).read_all()
        solver(shard.name, [read_row(items, row) for row in range(len(items))])
        scorer(shard.name)
    check_scores(sorted((tmp_path / "o" / "scores").rglob("*.parquet")))


def test_a_manifest_that_grows_by_a_task_keeps_what_was_planned(prior, tmp_path):
    words = ["manifest", "build", "cifar10-heldout", tmp_path / "m", "--limit", 2, "--prompt", "a b", "--overwrite"]
    items = []
    for tasks in (MIXED[:2], MIXED[:3], MIXED):
        assert run(*words, "--task", *tasks) == 0
        values = swept_specification(tmp_path / "m", prior, tmp_path / "o")
        folder = SweepFolder(str(tmp_path / "o"))
        plan = make_plan(validate(SweepSpec, values, where="specification"), folder)
        items.append(set(folder.store.read_table(folder.plan_name(plan.id))["item"].to_pylist()))
    assert [len(part) for part in items] == [8, 12, 16]
    assert items[0] < items[1] < items[2]


@pytest.mark.slow
def test_one_sweep_solves_and_scores_all_tasks(local_ray, manifest, prior, tmp_path):
    spec = write_spec(tmp_path / "s.yaml", swept_specification(manifest, prior, tmp_path / "o"))
    assert run("sweep", spec) == 0
    check_scores((tmp_path / "o" / "results").glob("*.parquet"))
    assert run("report", tmp_path / "o", "--out", tmp_path / "r.html") == 0
    assert "random_inpainting, keep 0.3, sigma 0.05, 32x32" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("task", ["inpaint-box-32", "inpaint-random-32"])
def test_solve_restores_missing_pixels(task, prior, tmp_path):
    random = np.random.default_rng(0)
    names = [tmp_path / f"{name}.png" for name in ("a", "b", "c")]
    for name in names:
        Image.fromarray(random.integers(0, 255, (32, 32, 3), dtype=np.uint8)).save(name)
    words = ["--task", task, "--prior", prior, *SOLVER]
    assert run("solve", *names, *words, "--out", tmp_path / "s") == 0
    assert run("solve", names[1], *words, "--out", tmp_path / "alone") == 0
    for kind in ("b.png", "b-measurement.npy"):  # with other masks beside it or alone
        assert (tmp_path / "s" / kind).read_bytes() == (tmp_path / "alone" / kind).read_bytes()
    assert run("measure", *names, "--task", task, "--out", tmp_path / "m") == 0
    measured = [tmp_path / "m" / f"{name.stem}-measurement.npy" for name in names]
    assert np.array_equal(np.load(measured[1]), np.load(tmp_path / "s" / "b-measurement.npy"))
    assert run("solve", *measured, "--measured", *words, "--out", tmp_path / "n") == 0
    assert (tmp_path / "n" / "c.png").read_bytes() == (tmp_path / "s" / "c.png").read_bytes()
    missing = [np.load(path) == 0 for path in measured]
    assert np.array_equal(missing[0], missing[1]) == (task == "inpaint-box-32")


def test_a_measurement_under_another_name_meets_no_foreign_mask(prior, tmp_path, capsys):
    Image.new("RGB", (32, 32), "teal").save(tmp_path / "a.png")
    words = ["--task", "inpaint-random-32"]
    assert run("measure", tmp_path / "a.png", *words, "--out", tmp_path) == 0
    (tmp_path / "a-measurement.npy").rename(tmp_path / "z.npy")
    words += ["--measured", "--prior", prior, "--out", tmp_path / "s", *SOLVER]
    assert run("solve", tmp_path / "z.npy", *words) == 2
    assert (
        "it holds pixels that its mask lacks, which follows from --seed and the file's name" in capsys.readouterr().err
    )
