"""Sweeps of motions by the real commands, this process in the place of Ray: resume, report, MLflow, nights, jobs."""

import io
import json
import runpy
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from mlflow import MlflowClient
from PIL import Image

from eval.metrics import Scored, build_metric
from eval.record.numbers import shown
from eval.record.word_tables import REAL
from eval.statistics.set_difference import set_difference
from operators import find_signal
from operators.skeleton import features_from_joints
from operators.validation import validate
from pipelines import cli
from pipelines.commands.submit import _work
from pipelines.manifest import Manifest, decode_truth, read_row
from pipelines.plan.sweep_spec import SweepSpec, load_spec
from pipelines.score.stored_sweep import StoredSweep
from pipelines.solve.attaching import Attach
from pipelines.solve.solving import ShardSolver, SolverConfig
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.tuning import LikeReal, find_best
from tests.motion_stand_in.test_motion_sweep import METRICS, rows, specification
from tests.motion_stand_in.walking import Walking
from tests.operators.skeleton.clips import walker
from tests.pipelines.nightly.night_cases import reading
from tests.pipelines.sweep_cases import run

CLIPS = 10
EXAMPLES = Path(__file__).parents[2] / "examples" / "paper" / "motion"
QUICK = {
    "steps": 4, "iterations": 6, "guidance": 1, "learning_rate": 1.0, "optimizer": "adam", "lambda_kl": 0,
    "eta_kl": 0.001, "final": "argmax",
}  # fmt: skip
LOCAL = {"devices": 1, "cpus_per_device": 1, "shard": 4}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A manifest of short walks under one density."""
    folder = tmp_path_factory.mktemp("motion-results")
    (folder / "clips").mkdir()
    for number in range(CLIPS):
        joints = walker(41 + 2 * number, speed=0.03, turn=0.01 * (number - 5))
        np.save(folder / "clips" / f"c{number}.npy", features_from_joints(joints[None])[0].numpy())
    words = ("--signal", "motion", "--task", "path-5", "--prompt", "a person walks")
    assert run("manifest", "build", folder / "clips", folder / "manifest", *words) == 0
    return folder


@pytest.fixture
def solved_here(monkeypatch):
    """Ray's part of a sweep is done by this process; the rows that were solved, shard by shard."""
    shards = []

    def stages(work, to_solve, to_score, run, watcher):
        spec = work.spec
        solver = ShardSolver(SolverConfig(spec.output, work.plan.priors, spec.resources, spec.keep, None, run))
        for shard in (*to_solve, *to_score):
            if shard in to_solve:
                refs = pa.table({"shard": [shard.name], "first": [shard.first], "count": [shard.count]})
                (stream,) = Attach(spec.output, spec.manifest, work.plan.id)(refs)["items"]
                items = pa.ipc.open_stream(stream.as_buffer()).read_all()
                solver(shard.name, [read_row(items, row) for row in range(len(items))])
                shards.append(shard.count)
            work.scorer(shard.name)
            yield {"shard": shard.name, "rows": shard.count}

    def truths(chunks, scorer):
        yield from (scorer(chunk["chunk"], chunk["rows"]) for chunk in chunks.to_pylist())

    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr("pipelines.working.Work._stages", lambda *given: [([*given[1], *given[2]], stages(*given))])
    monkeypatch.setattr("pipelines.score.measurement_scores.connect", lambda: None)
    monkeypatch.setattr("pipelines.solve.streaming.score_references", truths)
    monkeypatch.setattr("pipelines.nightly.night.calibrate", lambda _: [reading(0.1)])
    return shards


def written(folder, name, **changes):
    """A specification without metrics: they follow from the signal."""
    changes = {"metrics": None, "solver": {"settings": QUICK}, "resources": LOCAL} | changes
    return specification(folder, name, **changes)


def test_a_sweep_goes_on_where_it_was_and_is_shown_everywhere(folder, solved_here, monkeypatch, capsys):
    spec = written(folder, "whole")
    assert run("sweep", spec) == 0
    assert sum(solved_here) == 2 * CLIPS
    out = capsys.readouterr().out
    assert "path_error" in out
    assert "psnr" not in out
    skating = _real_skating(folder)
    (real,) = (line for line in out.splitlines() if REAL in line)
    assert shown(skating) in real, "the real motions stand beside every cell's"
    _resumed(folder, spec, solved_here)
    _reported(folder, capsys)
    _evaluated(folder, capsys)
    _tracked(folder, skating)
    _pictured(folder, monkeypatch, capsys)


def test_of_settings_that_are_nearly_best_the_one_with_the_real_feet_is_tuned(folder, solved_here, capsys):
    """The two means are told apart by the table that the sweep wrote, one criterion at a time."""
    grid = {"points": [{"learning_rate": 1.0}, {"learning_rate": 1e-9}, {"learning_rate": 0.3}]}
    choice = {"settings": {name: value for name, value in QUICK.items() if name != "learning_rate"}}
    spec = written(folder, "tried", solver=choice, grid=grid, select={"limit": 4}, keep={})
    assert run("sweep", spec) == 0
    sweep = StoredSweep.read(SweepFolder(str(folder / "tried")))
    real = sweep.record.real["path-5"]["feet_on_floor"].mean
    trials = {cell.parameters["learning_rate"]: cell.means for cell in sweep.record.cells}
    nearest = min(trials, key=lambda rate: abs(trials[rate]["feet_on_floor"].mean - real))
    best = min(trials, key=lambda rate: trials[rate]["path_error"].mean)
    found = {within: _tuned(sweep, within) for within in (None, 0.0, 1e6)}
    assert nearest != best
    assert (found[None], found[0.0], found[1e6]) == (best, best, nearest)
    capsys.readouterr()
    assert run("tune", folder / "tried", "--near", "feet_on_floor", "--within", "1e6") == 0
    assert f"learning_rate {nearest:g}" in capsys.readouterr().out
    assert run("tune", folder / "tried", "--near", "feet_on_floor") == 2
    assert run("tune", folder / "tried", "--near", "path_error", "--within", "1") == 2
    assert "the sweep has no path_error of real ones" in capsys.readouterr().err


def _tuned(sweep, within):
    like = None if within is None else LikeReal(["feet_on_floor"], within)
    (search,) = find_best(sweep, "path_error", like=like)
    assert ("nearest to the real feet_on_floor" in search.found_by) == (within is not None)
    return search.best.settings["learning_rate"]


def _real_skating(folder):
    """Of the clips as they are stored, without any of the road."""
    manifest = Manifest.open(str(folder / "manifest"))
    table = manifest.fetch([(0, row) for row in range(CLIPS)])
    clips = [decode_truth(read_row(table, row))[None] for row in range(CLIPS)]
    return np.mean([float(build_metric("foot_skating_paper")(Scored(None, clip, signal="motion"))) for clip in clips])


def _resumed(folder, spec, solved_here):
    """A shard that is gone is solved again, and no other; its bits are the same."""
    before = {row["item"]: row["x"] for row in rows(folder, "solved", "whole")}
    lost = sorted((folder / "whole" / "solved").rglob("*.parquet"))[0]
    count = pq.read_metadata(lost).num_rows
    for file in (folder / "whole").rglob(lost.name):
        file.unlink()
    solved_here.clear()
    assert run("sweep", spec) == 0
    assert solved_here == [count]
    assert {row["item"]: row["x"] for row in rows(folder, "solved", "whole")} == before
    solved_here.clear()
    assert run("sweep", spec) == 0
    assert solved_here == []


def _evaluated(folder, capsys):
    """`g2d2 eval` says of a cell what the sweep says: of its output, and of its motions as files of another method."""
    scores = [row for row in rows(folder, "scores", "whole") if row["process"] == "star"]
    expected = {row["measurement"]: [row[name] for name in METRICS] for row in scores}
    stored, made = {row["item"]: row["x"] for row in rows(folder, "solved", "whole")}, folder / "made"
    made.mkdir()
    for row in scores:
        name = row["measurement"].removeprefix("path-5/")
        np.save(made / f"{name}.npy", find_signal("motion").decode(stored[row["item"]], name).numpy())
    given = ("--measurements", folder / "manifest")
    sources = [
        (folder / "whole", "--cell", "star"),
        (folder / "clips", folder / "whole", "--cell", "star", *given),
        (made, *given),
        (folder / "clips", made, "--task", "path-5"),  # key frames of a manifest of the same seed and task
    ]
    for words in sources:
        out = folder / "evaluated.parquet"
        assert run("eval", "--signal", "motion", *words, "--metrics", *METRICS, "--out", out, "--json") == 0
        assert json.loads(capsys.readouterr().out)["real"]["clips"] == CLIPS
        table = {row["measurement"].removeprefix("path-5/"): row for row in pq.read_table(out).to_pylist()}
        found = {f"path-5/{name}": [row[metric] for metric in METRICS] for name, row in table.items()}
        assert found == {name: pytest.approx(values, abs=1e-6) for name, values in expected.items()}
    assert run("eval", "--signal", "motion", folder / "whole") == 2
    assert "cell: 2 of" in capsys.readouterr().err


def _reported(folder, capsys):
    """Film strips, key points from above, and the metrics of motions by their names."""
    assert run("report", folder / "whole", "--json") == 0
    page = (folder / "whole" / "report" / "index.html").read_text()
    assert all(name in page for name in METRICS)
    assert "lpips" not in page
    assert f">{REAL}<" in page
    assert page.count("data:image/") >= 3
    assert "not shown" not in capsys.readouterr().out


def _tracked(folder, skating):
    """A run per cell, with means, intervals and a panel of film strips; the sweep's own has the real motions'."""
    client = MlflowClient(f"sqlite:///{folder}/mlflow.db")
    runs = client.search_runs([one.experiment_id for one in client.search_experiments()])
    cells = {one.data.params["arm"]: one for one in runs if one.data.params.get("arm")}
    assert set(cells) == {"star", "markov"}
    (whole,) = (one for one in runs if one not in cells.values())
    assert whole.data.metrics["real_foot_skating_paper/path-5"] == pytest.approx(skating)
    for one in cells.values():
        means = one.data.metrics
        assert set(METRICS) <= set(means)
        assert means["path_error_low"] <= means["path_error"] <= means["path_error_high"]
        assert means["count"] == CLIPS
        panel = Path(unquote(urlsplit(one.info.artifact_uri).path), "panel.png").read_bytes()
        picture = np.asarray(Image.open(io.BytesIO(panel)).convert("L"))
        assert picture.shape[0] > 4 * 128, "four rows, of 128 pixels each"
        for row in range(4):  # truth, key points and reconstruction are drawn in every row
            strip = picture[row * 136 : row * 136 + 128]
            assert (strip < 200).any(axis=0).reshape(-1)[: strip.shape[1] // 3].any()
            assert (strip < 200).any(axis=0).reshape(-1)[-strip.shape[1] // 3 :].any()


def _pictured(folder, monkeypatch, capsys):
    """Scripts beside the paper's experiment: nearest prompts, distances to real motions, and a sheet of film strips."""
    monkeypatch.setattr("sys.argv", ["it", str(folder / "whole")])
    runpy.run_path(str(EXAMPLES / "nearest_prompts.py"), run_name="__main__")
    assert f"star: {CLIPS} of {CLIPS} motions are nearest to their own prompt" in capsys.readouterr().out
    quick = partial(set_difference, resamples=100)
    monkeypatch.setattr("eval.statistics.set_difference.set_difference", quick)
    monkeypatch.setattr("sys.argv", ["it", str(folder / "whole"), "markov"])
    runpy.run_path(str(EXAMPLES / "distance_to_real.py"), run_name="__main__")
    count, star, markov = capsys.readouterr().out.splitlines()
    assert count == f"{CLIPS} clips"
    assert float(star.split()[1].strip(",")) - float(markov.split()[1]) == pytest.approx(
        float(star.split()[4]), abs=2e-3
    )
    monkeypatch.setattr("sys.argv", ["it", str(folder / "whole"), str(folder / "strips.png"), "c0", "c3"])
    runpy.run_path(str(EXAMPLES / "film_strips.py"), run_name="__main__")
    sheet = np.asarray(Image.open(folder / "strips.png").convert("L"))
    parts = [part for row in np.array_split(sheet, 2) for part in np.array_split(row, 2, axis=1)]
    assert all((part[40:] < 120).any() for part in parts), "two clips, each under star and Markov"


def test_a_night_of_motions_is_judged_by_its_paths(folder, solved_here, monkeypatch, capsys):
    """Without tolerances: what the metrics of motions say of themselves."""
    values = yaml.safe_load(written(folder, "night", grid={}, tracking={"enabled": False}, keep={}).read_text())
    sweep = {key: value for key, value in values.items() if key not in ("name", "output")}
    nightly = {"name": "n", "output": str(folder / "nights"), "sweep": sweep, "speed": None, "memory": None}
    path = folder / "nightly.yaml"
    path.write_text(yaml.safe_dump(nightly))

    def night(name):
        capsys.readouterr()
        code = run("nightly", path, "--night", name, "--json")
        return code, json.loads(capsys.readouterr().out)

    assert night("a")[0] == 0
    assert run("nightly", "accept", path, "--reason", "right") == 0
    code, facts = night("b")
    assert (code, facts["night"]["outcome"]) == (0, "passed")
    whole = Walking.decode
    monkeypatch.setattr(Walking, "decode", lambda self, *given, **named: 0.3 * whole(self, *given, **named))
    code, facts = night("c")
    assert (code, facts["night"]["outcome"]) == (1, "failed")
    assert "path_error" in json.dumps(facts)
    assert (folder / "nights" / "history" / "c" / "report.html").exists()


def test_a_sweep_of_motions_can_be_sent_as_a_job(folder):
    """The manifest is read for the job's key, and what follows from its signal is left to the cluster."""
    spec = written(folder, "job", prior="cmu-motion", solver={"preset": "motion"})
    words = ["submit", str(spec), "--shared-paths", "--installed"]
    args = cli.build_parser(["submit"]).parse_args(words)
    work, again = (_work(None, load_spec(spec), args) for _ in range(2))
    assert work.key.startswith("g2d2-job-")
    assert (work.key, work.digest) == (again.key, again.digest)
    sent = validate(SweepSpec, yaml.safe_load(work.texts["job.yaml"]), where="job")
    assert sent == load_spec(spec)
    assert sent.metrics is None
    other = written(folder, "job", prior="cmu-motion", solver={"preset": "motion", "settings": {"eta_kl": 0.005}})
    assert _work(None, load_spec(other), args).key != work.key
