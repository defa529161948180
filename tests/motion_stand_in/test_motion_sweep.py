"""Motions walk the whole road: manifests of clips and of drawn paths, sweep, scores; with Ray report and MLflow too."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import torch
import yaml
from mlflow import MlflowClient

from eval.embedding_sets import set_frechet
from eval.motion_evaluators import load_evaluator
from operators import InputError, find_signal, validate
from operators.skeleton import features_from_joints
from pipelines.manifest import read_row
from pipelines.nightly.nightly_spec import load_nightly
from pipelines.plan.chosen_metrics import chosen_metrics, with_metrics
from pipelines.plan.planning import make_plan
from pipelines.plan.sweep_spec import SweepSpec, load_spec
from pipelines.score.features import cell_distances, distances_by_cell
from pipelines.score.scoring import ShardScorer
from pipelines.score.scorings import Scoring
from pipelines.solve.attaching import Attach
from pipelines.solve.solving import ShardSolver, SolverConfig
from pipelines.storage.sweep_folder import SweepFolder
from tests.motion_stand_in.test_solve_motion import PRIOR
from tests.operators.skeleton.clips import walker
from tests.pipelines import sweep_cases
from tests.pipelines.sweep_cases import run

LENGTHS = (60, 44, 80)
METRICS = [
    "path_error", "location_error_50cm", "trajectory_error_50cm", "foot_skating", "foot_skating_paper", "feet_on_floor",
]  # fmt: skip


def specification(folder, name, **changes):
    values = {
        "name": name,
        "manifest": str(folder / "manifest"),
        "prior": PRIOR,
        "output": str(folder / name),
        "solver": {
            "settings": {
                "steps": 6, "iterations": 10, "guidance": 1, "learning_rate": 1.0, "optimizer": "adam",
                "lambda_kl": 0, "eta_kl": 0.001, "final": "argmax",
            }
        },
        "grid": {"cross": {"process": ["star", "markov"]}},
        "metrics": METRICS,
        "keep": {"traces": True, "snapshots_at": [3]},
        "tracking": {"uri": f"sqlite:///{folder}/mlflow.db"},
        "resources": {"devices": 1, "cpus_per_device": 1},
    }  # fmt: skip
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(values | changes))
    return folder / f"{name}.yaml"


def swept(path):
    """What a sweep does to every shard, without Ray."""
    spec = validate(SweepSpec, yaml.safe_load(path.read_text()), where="specification")
    plan = make_plan(spec, SweepFolder(spec.output))
    solver = ShardSolver(SolverConfig(spec.output, plan.priors, spec.resources, spec.keep, threads=None))
    scorer = ShardScorer(spec.output, spec.manifest, Scoring.of(chosen_metrics(spec), spec.distribution))
    for shard in plan.shards:
        refs = pa.table({"shard": [shard.name], "first": [shard.first], "count": [shard.count]})
        (stream,) = Attach(spec.output, spec.manifest, plan.id)(refs)["items"]
        items = pa.ipc.open_stream(stream.as_buffer()).read_all()
        solver(shard.name, [read_row(items, row) for row in range(len(items))])
        scorer(shard.name)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Clips of several lengths under two densities."""
    folder = tmp_path_factory.mktemp("motion")
    (folder / "clips").mkdir()
    for number, length in enumerate(LENGTHS):
        joints = walker(length + 1, speed=0.04, turn=0.03 * (number - 1))
        np.save(folder / "clips" / f"c{number}.npy", features_from_joints(joints[None])[0].numpy())
    words = ("--signal", "motion", "--task", "path-2", "path-25pct", "--prompt", "a person walks")
    assert run("manifest", "build", folder / "clips", folder / "manifest", *words) == 0
    return folder


@pytest.fixture(scope="module")
def sweep(measured):
    """The same, solved and scored."""
    swept(specification(measured, "sweep"))
    return measured


def rows(folder, kind, name="sweep"):
    return ds.dataset(folder / name / kind).to_table().to_pylist()


def test_every_motion_is_solved_at_its_own_length(sweep):
    solved, signal = rows(sweep, "solved"), find_signal("motion")
    assert len(solved) == 2 * 2 * len(LENGTHS)
    assert {row["error"] for row in solved} == {None}
    for row in solved:
        assert len(signal.decode(row["x"], "x")) == LENGTHS[int(row["measurement"][-1])]


def test_paths_are_met_better_than_without_guidance(sweep):
    """One step of a vanishing rate leaves a sample of the prior."""
    values = yaml.safe_load((sweep / "sweep.yaml").read_text())
    idle = {"settings": values["solver"]["settings"] | {"learning_rate": 1e-9, "iterations": 1}}
    swept(specification(sweep, "idle", solver=idle))
    guided, free = (np.mean([row["path_error"] for row in rows(sweep, "scores", name)]) for name in ("sweep", "idle"))
    assert guided < 0.35
    assert guided < 0.5 * free


def test_scores_are_all_there(sweep):
    for row in rows(sweep, "scores"):
        assert row["error"] is None
        assert all(np.isfinite(row[name]) for name in METRICS)
        assert row["trajectory_error_50cm"] == float(row["location_error_50cm"] > 0)


def test_a_row_does_not_depend_on_its_company(sweep):
    swept(specification(sweep, "alone", resources={"devices": 1, "cpus_per_device": 1, "batch": 1}))
    together, alone = ({row["item"]: row["x"] for row in rows(sweep, "solved", name)} for name in ("sweep", "alone"))
    assert together == alone


@pytest.mark.slow
def test_report_and_mlflow_of_a_sweep(sweep):
    """With Ray, as people run it."""
    spec = specification(sweep, "with-ray")
    assert run("sweep", spec) == 0
    assert run("report", sweep / "with-ray") == 0
    page = (sweep / "with-ray" / "report" / "index.html").read_text()
    assert "path_error" in page
    assert "data:image/" in page
    client = MlflowClient(f"sqlite:///{sweep}/mlflow.db")
    runs = client.search_runs([one.experiment_id for one in client.search_experiments()])
    assert any("path_error" in " ".join(one.data.metrics) for one in runs)


def test_drawn_paths_are_swept_without_truth(tmp_path):
    (tmp_path / "prompts.txt").write_text("a person walks\nstand still\n")
    words = ("--signal", "motion", "--prompts", tmp_path / "prompts.txt", "--frames", "60", "--set", "keyframes=10")
    assert run("manifest", "build", "line", tmp_path / "manifest", *words) == 0
    names = ["frechet_cmu", "matching_score_cmu"]
    path = specification(tmp_path, "drawn", grid={"cross": {"process": ["star"]}}, distribution=names)
    swept(path)
    spec = load_spec(path)
    folder = SweepFolder(spec.output)
    found = cell_distances(folder, make_plan(spec, folder), [Scoring.of(chosen_metrics(spec), names)]).to_pylist()
    assert [one["value"] is None for one in found] == [True, False]
    assert "there are 0 real and 2 generated motions" in found[0]["unavailable"]
    scores = rows(tmp_path, "scores", "drawn")
    assert len(scores) == 2
    assert all(np.isfinite(row["path_error"]) for row in scores)


def test_sets_of_motions_have_numbers_beside_the_real_ones(measured):
    """Enough motions for groups of 32 by many seeds."""
    names = ["frechet_cmu", "r_precision_cmu_top3", "matching_score_cmu", "diversity_cmu", "fid_t2m"]
    quick = {"steps": 2, "iterations": 1, "guidance": 1, "learning_rate": 1.0, "optimizer": "adam", "final": "argmax"}
    changes = {
        "solver": {"settings": quick}, "grid": {"cross": {"process": ["star"]}}, "seeds": list(range(11)),
        "select": {"tasks": ["path-2"]}, "keep": {}, "distribution": names,
    }  # fmt: skip
    spec = load_spec(specification(measured, "sets", **changes))
    swept(measured / "sets.yaml")
    folder = SweepFolder(spec.output)
    plan = make_plan(spec, folder)
    table = cell_distances(folder, plan, [Scoring.of(chosen_metrics(spec), names)])
    (found,) = distances_by_cell(table).values()
    assert all(found[name].whole for name in names[:-1])
    assert "t2m is brought by the user" in found["fid_t2m"].unavailable
    x = [find_signal("motion").decode(row["x"], "x") for row in rows(measured, "solved", "sets")]
    evaluator = load_evaluator("cmu")
    clips = [torch.from_numpy(np.load(file)) for file in sorted((measured / "clips").glob("*.npy"))]
    made, real = evaluator.motions(x), evaluator.motions(clips)
    assert found["frechet_cmu"].value == pytest.approx(set_frechet(real, made), rel=1e-3)
    text = evaluator.texts(["a person walks"])
    assert found["matching_score_cmu"].value == pytest.approx(np.linalg.norm(made - text, axis=1).mean(), rel=1e-4)
    assert found["matching_score_cmu"].of_truth == pytest.approx(np.linalg.norm(real - text, axis=1).mean(), rel=1e-4)
    assert found["r_precision_cmu_top3"].value == 1.0  # all have the same prompt
    assert found["diversity_cmu"].of_truth > 0


def test_a_metric_of_pictures_is_refused(sweep, capsys):
    assert run("plan", specification(sweep, "bad", metrics=["psnr"]), "--no-calibration") == 2
    assert "psnr scores the signal image" in capsys.readouterr().err
    assert run("plan", specification(sweep, "bad", distribution=["kid"]), "--no-calibration") == 2
    assert "kid is of images, and task 'path-2' has motions" in capsys.readouterr().err


def test_without_metrics_a_sweep_of_motions_has_those_of_motions(measured, monkeypatch):
    """Nothing of pictures is asked for, so that no network must be there."""
    monkeypatch.setattr("eval.metrics.needs.find_weights", lambda name: pytest.fail(f"{name} was looked for"))
    path = specification(measured, "default", metrics=None)
    spec = load_spec(path)
    assert chosen_metrics(spec) == METRICS
    assert with_metrics(spec).metrics == METRICS
    assert run("plan", path, "--no-calibration") == 0


def test_without_metrics_a_sweep_of_pictures_has_those_of_pictures(tmp_path):
    spec = validate(SweepSpec, sweep_cases.specification(sweep_cases.build_manifest(tmp_path), "p", "o", metrics=None))
    assert chosen_metrics(spec) == ["psnr", "ssim", "lpips_vgg", "residual"]


def test_without_metrics_motions_race_by_their_paths(measured, capsys):
    path = specification(measured, "race", metrics=None, race="safe")
    assert run("plan", path, "--no-calibration") == 0
    assert load_spec(path).race.raced(chosen_metrics(load_spec(path))) == ["path_error"]
    capsys.readouterr()
    odd = specification(measured, "odd", metrics=None, race={"metrics": ["psnr"]})
    assert run("plan", odd, "--no-calibration") == 2
    assert "each must be one of the sweep's metrics, which are path_error" in capsys.readouterr().err


def test_a_nightly_judges_what_its_signal_measures(measured):
    values = yaml.safe_load(specification(measured, "night", metrics=None).read_text())
    own = {key: value for key, value in values.items() if key not in ("name", "output")}
    nightly = {"name": "n", "output": str(measured / "nightly"), "sweep": own, "tolerances": {"path_error": 0.1}}
    (measured / "nightly.yaml").write_text(yaml.safe_dump(nightly))
    assert load_nightly(measured / "nightly.yaml").judged() == ["path_error"]
    (measured / "nightly.yaml").write_text(yaml.safe_dump(nightly | {"tolerances": {"psnr": 0.1}}))
    with pytest.raises(InputError, match="does not measure; it measures path_error"):
        load_nightly(measured / "nightly.yaml")
