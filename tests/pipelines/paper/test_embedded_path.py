"""The packaged motion prior follows paths on the road that people take: manifest, sweep on Ray, MLflow, report."""

import pytest
import yaml
from mlflow import MlflowClient

from pipelines import Sweep
from tests.pipelines.sweep_cases import run

QUICK = {"steps": 8, "iterations": 8}
ARMS = {
    "star": {"preset": "tuned", "settings": QUICK | {"process": "star"}},
    "unguided": {"preset": "motion", "settings": QUICK | {"iterations": 1, "learning_rate": 1e-9, "gamma": 1.0}},
}


@pytest.mark.slow
def test_two_drawn_paths_are_met_by_the_packaged_prior(local_ray, tmp_path):
    (tmp_path / "prompts.txt").write_text("a person walks\n")
    words = ("manifest", "build", "paths", tmp_path / "drawn", "--signal", "motion", "--frames", "60", "--limit", "2")
    assert run(*words, "--prompts", tmp_path / "prompts.txt", "--set", "keyframes=5") == 0
    spec = {
        "name": "drawn",
        "manifest": str(tmp_path / "drawn"),
        "prior": "cmu-motion",
        "output": str(tmp_path / "out"),
        "arms": ARMS,
        "compare": "star",
        "tracking": {"uri": f"sqlite:///{tmp_path}/mlflow.db"},
        "resources": {"devices": 1, "cpus_per_device": 1},
    }
    (tmp_path / "drawn.yaml").write_text(yaml.safe_dump(spec, sort_keys=False))
    assert run("sweep", tmp_path / "drawn.yaml") == 0
    assert run("report", tmp_path / "out") == 0
    cells = {cell.arm: cell for cell in Sweep.open(spec["output"]).record.cells}
    assert [cells[arm].solved for arm in ARMS] == [2, 2]
    errors = {arm: cell.means["path_error"].mean for arm, cell in cells.items()}
    assert errors["star"] < 0.5 * errors["unguided"], errors
    page = (tmp_path / "out" / "report" / "index.html").read_text()
    assert "feet_on_floor" in page
    assert "data:image/" in page
    client = MlflowClient(spec["tracking"]["uri"])
    runs = client.search_runs([one.experiment_id for one in client.search_experiments()])
    tracked = {one.data.params["arm"]: one.data.metrics for one in runs if one.data.params.get("arm")}
    assert {arm: means["path_error"] for arm, means in tracked.items()} == pytest.approx(errors)
