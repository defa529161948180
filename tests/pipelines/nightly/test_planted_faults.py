"""On the embedded prior: three faults nobody versioned are caught and named, a change of seeds is not."""

import json
import shutil
from pathlib import Path

import pytest
import torch
import yaml

import g2d2
from pipelines.nightly.calibrating import read_device
from tests.pipelines.nightly.night_cases import PLANTED, tiny_nightly
from tests.pipelines.sweep_cases import run

EMBEDDED = Path(g2d2.__file__).parent / "priors" / "embedded" / "cifar10-vq"
TASK = "gaussian-deblur-32"


@pytest.fixture
def quick_calibration(monkeypatch):
    """Fresh workers take longer than these nights; `test_three_nights` calibrates on them."""
    monkeypatch.setattr("pipelines.nightly.night.calibrate", lambda _: [read_device(torch.device("cpu"))])


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.usefixtures("quick_calibration")
def test_planted_faults_are_caught_and_named(plant, tmp_path, capsys):
    from tests.pipelines.nightly.plants import coarsen_decoder  # imports Ray, which reads its settings then

    prior = shutil.copytree(EMBEDDED, tmp_path / "prior")
    assert run("manifest", "build", "cifar10-heldout", tmp_path / "m", "--task", TASK, "--limit", 24) == 0
    sweep = {
        "manifest": str(tmp_path / "m"),
        "prior": str(prior),
        "solver": {"method": PLANTED, "preset": "tuned", "settings": {"steps": 6, "iterations": 6}},
        "metrics": ["psnr", "ssim"],
        "tracking": {"enabled": False},
        "resources": {"devices": 2, "shard": 12},
    }
    values = {"name": "planted", "output": str(tmp_path / "out"), "sweep": sweep, "speed": None, "memory": None}
    path = tmp_path / "nightly.yaml"
    path.write_text(yaml.safe_dump(values | {"keep_nights": 2}))

    def night(name, fault):
        plant(fault)
        capsys.readouterr()
        code = run("nightly", path, "--night", name, "--json")
        return code, json.loads(capsys.readouterr().out)["gate"]

    assert night("1-first", None) == (0, None)
    assert run("nightly", "accept", path, "--reason", "first") == 0
    code, gate = night("2-flaky", "seeds")
    assert (code, gate["passed"]) == (0, True)
    for name, fault in (("3-gamma", "gamma"), ("4-padding", "padding")):
        code, gate = night(name, fault)
        assert (code, gate["counts"]) == (1, {"regressed": 2}), name
        assert {(j["label"], j["metric"]) for j in gate["judgements"]} == {
            (f"{TASK}, Planted", "psnr"),
            (f"{TASK}, Planted", "ssim"),
        }
    coarsen_decoder(prior)
    code, gate = night("5-decoder", None)
    assert (code, gate["counts"]) == (1, {"regressed": 2})
    assert any(note.startswith("since the baseline: prior digest ") for note in gate["notes"])
    left = {file.name for file in (tmp_path / "out" / "nights").iterdir() if any(file.rglob("*.parquet"))}
    assert left == {"1-first", "4-padding", "5-decoder"}


@pytest.mark.slow
@pytest.mark.usefixtures("quick_calibration")
def test_mlflow_shows_which_night_is_the_baseline(plant, tiny_prior, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    path = tiny_nightly(tmp_path, tiny_prior, pictures=4)
    values = yaml.safe_load(path.read_text())
    values["sweep"]["tracking"] = {"panels": 0}
    path.write_text(yaml.safe_dump(values))
    plant(None)
    for name in ("a", "b"):
        assert run("nightly", path, "--night", name) == 0
        assert run("nightly", "accept", path, "--reason", f"night {name}") == 0
        assert "tagged in MLflow" in capsys.readouterr().out
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{tmp_path}/out/mlflow.db")
    experiment = client.get_experiment_by_name("g2d2").experiment_id
    (tagged,) = client.search_runs([experiment], "tags.`g2d2.baseline` = 'tiny'")
    assert tagged.info.run_name == "tiny-b"
    assert tagged.data.tags["g2d2.baseline.reason"] == "night b"
