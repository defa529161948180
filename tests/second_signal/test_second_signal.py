"""A second signal, operator, prior and metric go from manifest to report and MLflow; all of theirs is in series.py."""

import json
from io import BytesIO

import numpy as np
import pyarrow.dataset as ds
import pytest
import torch
import yaml
from mlflow import MlflowClient

from operators import find_signal
from pipelines.manifest import Manifest, SourceRow, write_manifest
from tests.pipelines.sweep_cases import run
from tests.second_signal.series import CODES, LONGEST, NAME, SAMPLES

PLACE = "tests.second_signal.series"
LENGTHS = (32, 30, 17, 8, 32, 21)


def truths():
    """Series of several lengths, made of the prior's own codes."""
    random = np.random.default_rng(0)
    for number, length in enumerate(LENGTHS):
        codes = np.repeat(random.integers(0, len(CODES), 1 + LONGEST // (4 * SAMPLES)), 4)[: LONGEST // SAMPLES]
        yield f"s{number}", CODES[torch.from_numpy(codes)].reshape(-1, 1)[:length]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """A sweep of two arms over series, scored, tracked and reported."""
    folder = tmp_path_factory.mktemp("series")
    rows = [
        SourceRow(name, x, f"{PLACE}:Loudness", {"bend": 0.5}, sigma=0.02, seed=number, task="loudness")
        for number, (name, x) in enumerate(truths())
    ]
    write_manifest(str(folder / "manifest"), rows)
    specification = {
        "name": "series",
        "manifest": str(folder / "manifest"),
        "prior": f"{PLACE}:Steady",
        "output": str(folder / "sweep"),
        "solver": {"settings": {"steps": 10, "iterations": 20, "guidance": 1, "learning_rate": 2.0, "final": "argmax"}},
        "grid": {"cross": {"process": ["star", "markov"], "remasking": ["independent", "exact-count"]}},
        "metrics": [f"{PLACE}:Rmse", "residual"],
        "keep": {"traces": True, "snapshots_at": [5]},
        "tracking": {"uri": f"sqlite:///{folder}/mlflow.db"},
        "resources": {"devices": 1, "cpus_per_device": 1},
    }
    (folder / "series.yaml").write_text(yaml.safe_dump(specification))
    assert run("plan", folder / "series.yaml") == 0
    assert run("sweep", folder / "series.yaml") == 0
    assert run("report", folder / "sweep") == 0
    return folder


def solved(folder):
    return ds.dataset(folder / "sweep" / "solved").to_table().to_pylist()


def test_every_row_is_solved_at_its_own_length(sweep):
    rows = solved(sweep)
    assert len(rows) == 4 * len(LENGTHS)
    assert {row["error"] for row in rows} == {None}
    lengths = {f"loudness/s{number}": length for number, length in enumerate(LENGTHS)}
    signal = find_signal(NAME)
    assert all(signal.decode(row["x"], "x").shape == (lengths[row["measurement"]], 1) for row in rows)


def test_reconstructions_are_close_to_the_truth(sweep):
    """Codes lie 0.4 apart at least: most tokens are right. The measurement itself is further off: it is bent."""
    scores = ds.dataset(sweep / "sweep" / "scores").to_table(["rmse", "arm"]).to_pylist()
    errors = {arm: np.mean([row["rmse"] for row in scores if row["arm"] == arm]) for arm in ("star", "markov")}
    assert max(errors.values()) < 0.2
    truth = dict(truths())
    manifest = Manifest.open(str(sweep / "manifest"))
    stored = manifest.fetch([(0, row) for row in range(len(LENGTHS))])
    bent = [
        np.sqrt(np.mean((np.array(y) - truth[name.rpartition("/")[2]].numpy().ravel()) ** 2))
        for name, y in zip(stored["id"].to_pylist(), stored["y"].to_pylist(), strict=True)
    ]
    assert np.mean(bent) > 2 * max(errors.values())


def test_a_row_does_not_depend_on_the_lengths_beside_it(sweep, tmp_path):
    """Solved one by one they are the same to the last bit."""
    specification = yaml.safe_load((sweep / "series.yaml").read_text())
    specification |= {"output": str(tmp_path / "alone"), "tracking": {"enabled": False}}
    specification["resources"] |= {"batch": 1}
    (tmp_path / "alone.yaml").write_text(yaml.safe_dump(specification))
    assert run("sweep", tmp_path / "alone.yaml") == 0
    together = {row["item"]: row["x"] for row in solved(sweep)}
    alone = {row["item"]: row["x"] for row in ds.dataset(tmp_path / "alone" / "solved").to_table().to_pylist()}
    assert alone == together


def test_positions_beyond_the_end_are_never_masked_nor_counted(sweep):
    for row in solved(sweep):
        trace = np.load(BytesIO(row["trace"]))
        number = int(row["measurement"].rpartition("s")[2])
        tokens = -(-LENGTHS[number] // SAMPLES)
        assert trace["masked"][0] == tokens
        assert trace["masked"].max() <= tokens


def test_the_report_shows_previews_and_the_metric_by_its_own_name(sweep):
    page = (sweep / "sweep" / "report" / "index.html").read_text()
    assert "rmse" in page
    assert "data:image/png;base64," in page or "image/png" in page


def test_mlflow_has_a_run_for_every_cell(sweep):
    client = MlflowClient(f"sqlite:///{sweep}/mlflow.db")
    runs = client.search_runs([one.experiment_id for one in client.search_experiments()])
    cells = [one for one in runs if "rmse" in " ".join(one.data.metrics) and one.data.params.get("arm")]
    assert len(cells) == 4
    assert {one.data.params["method"] for one in cells} == {"g2d2"}


def test_a_picture_metric_is_refused_for_series(sweep, tmp_path, capsys):
    specification = yaml.safe_load((sweep / "series.yaml").read_text())
    specification |= {"metrics": ["ssim"], "output": str(tmp_path / "o")}
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump(specification))
    assert run("plan", tmp_path / "bad.yaml", "--no-calibration") == 2
    assert "ssim" in capsys.readouterr().err


def test_it_is_all_in_one_file():
    """No file of the packages names it."""
    from tests.conftest import ROOT

    for room in ("operators", "g2d2", "eval", "pipelines", "cluster"):
        assert not any("second_signal" in path.read_text() for path in (ROOT / room).rglob("*.py"))


def test_manifest_show_and_json(sweep, capsys):
    assert run("manifest", "show", sweep / "manifest", "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"] == len(LENGTHS)
