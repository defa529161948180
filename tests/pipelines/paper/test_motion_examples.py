"""The paper's motion experiment: every specification plans, with the paper's settings and on its densities."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eval.distribution.motion_names import set_names
from g2d2.methods import find_method
from g2d2.priors.locating import locate_prior
from operators.skeleton import features_from_joints
from pipelines.manifest import Manifest
from pipelines.plan.cells import PlannedPrior, expand_cells
from pipelines.plan.chosen_metrics import chosen_metrics
from pipelines.plan.readiness import check_solving
from pipelines.plan.selected_rows import select_places
from pipelines.plan.sweep_spec import load_spec
from tests.operators.skeleton.clips import walker
from tests.pipelines.sweep_cases import run

FOLDER = Path(__file__).parents[3] / "examples" / "paper" / "motion"
SPECS = {path.stem: load_spec(path) for path in sorted(FOLDER.glob("*.yaml"))}
DENSITIES = ["path-1", "path-2", "path-5", "path-25pct", "path-all"]
EMBEDDED = "cmu-motion"
CELLS = {
    "humanml3d-density-5": 2, "humanml3d-densities": 10, "mini": 3, "mini-density": 10, "mini-iterations": 4,
    "mini-captured": 3, "mini-actions": 3, "mini-distance": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def manifests(tmp_path_factory):
    """One drawn path with the prompts of the folder, and one clip of a HumanML3D folder, under all densities."""
    folder = tmp_path_factory.mktemp("motion-paper")
    words = ("--signal", "motion", "--task", *DENSITIES)
    drawn = ("manifest", "build", "paths", folder / "drawn", *words, "--prompts", FOLDER / "prompts.txt")
    assert run(*drawn, "--limit", "1") == 0
    root = folder / "HumanML3D"
    for part in ("new_joint_vecs", "texts"):
        (root / part).mkdir(parents=True)
    np.save(root / "new_joint_vecs" / "000000.npy", features_from_joints(walker(61)[None])[0].numpy())
    (root / "texts" / "000000.txt").write_text("a person walks#a/DET person/NOUN walk/VERB#0.0#0.0\n")
    (root / "test.txt").write_text("000000\n")
    assert run("manifest", "build", root, folder / "captured", *words, "--split", "test", "--cut") == 0
    return {name: str(folder / name) for name in ("drawn", "captured")}


def planned(name, manifests):
    """The specification on the small manifest of its kind and the embedded prior, and its cells."""
    spec = SPECS[name]
    own = manifests["drawn" if spec.manifest.endswith("/drawn") else "captured"]
    spec = spec.model_copy(update={"manifest": own, "prior": EMBEDDED})
    tasks = list(dict.fromkeys(select_places(spec, Manifest.open(own))["task"].to_pylist()))
    return spec, expand_cells(spec, tasks, {EMBEDDED: PlannedPrior(locate_prior(EMBEDDED), "0" * 32)})


@pytest.mark.parametrize("name", SPECS)
def test_every_specification_can_be_planned(name, manifests, monkeypatch):
    monkeypatch.delenv("G2D2_WEIGHTS", raising=False)
    spec, cells = planned(name, manifests)
    assert len(cells) == CELLS[name]
    warnings = check_solving(spec, cells).warnings
    lacking = [name for name in spec.distribution if name in set_names("t2m").values()]  # a user brings their evaluator
    assert [one.partition(" will")[0] for one in warnings] == [f"distribution: {name}" for name in lacking]
    assert chosen_metrics(spec)[0] == "path_error"
    assert f"`{name}.yaml`" in (FOLDER / "README.md").read_text()


@pytest.mark.parametrize("name", ["humanml3d-density-5", "humanml3d-densities"])
def test_full_specifications_have_the_papers_settings(name, manifests):
    _, cells = planned(name, manifests)
    own = find_method("g2d2").settings("motion").model_dump()
    assert (own["steps"], own["iterations"], own["optimizer"], own["learning_rate"]) == (25, 20, "adam", 0.3)
    assert (own["eta_kl"], own["lambda_kl"], own["lambda_lr"], own["gamma"]) == (0.05, 0.0, 1.0, 0.7)
    for cell in cells:
        assert cell.settings == own | {"process": cell.settings["process"]}
    assert {cell.task for cell in cells} == set(["path-5"] if name.endswith("5") else DENSITIES)
    assert SPECS[name].select.limit == 1024
    assert SPECS[name].distribution == ["fid_t2m", "r_precision_t2m_top3", "diversity_t2m"]
    assert SPECS[name].prior == "priors/mmm"


def test_cells_that_two_specifications_name_are_one(manifests):
    """They share an output, so that five key frames are solved once."""
    for one, other in (("humanml3d-density-5", "humanml3d-densities"), ("mini-density", "mini-captured")):
        assert SPECS[one].output == SPECS[other].output
        assert SPECS[one].shared
        recipes = [{(cell.task, cell.recipe) for cell in planned(name, manifests)[1]} for name in (one, other)]
        assert recipes[0] & recipes[1]


def test_the_minis_ask_their_questions(manifests):
    for name in ("mini", "mini-captured", "mini-actions"):
        arms = {cell.arm: cell.settings for cell in planned(name, manifests)[1]}
        assert (arms["star"]["process"], arms["markov"]["process"]) == ("star", "markov")
        assert arms["unguided"]["learning_rate"] < 1e-6
    density = [(cell.arm, cell.task) for cell in planned("mini-density", manifests)[1]]
    assert sorted(density) == sorted((arm, task) for arm in ("star", "unguided") for task in DENSITIES)
    assert [cell.settings["iterations"] for cell in planned("mini-iterations", manifests)[1]] == [1, 5, 20, 40]


def test_settings_are_chosen_where_nothing_is_judged():
    """Star and Markov have the same trials, on rows beyond those of every mini on the same manifest."""
    tuning = load_spec(FOLDER / "tuning" / "embedded.yaml")
    arms = tuning.all_arms()
    assert arms["star"].grid == arms["markov"].grid
    judged = [spec.select for spec in SPECS.values() if spec.manifest == tuning.manifest]
    assert len(judged) == 3
    assert all(one.skip + one.limit <= tuning.select.skip for one in judged)


def test_clips_of_held_out_people_become_a_manifest(tmp_path, monkeypatch, capsys):
    """Of people 0 to 39 some are held out by the hash of their number; each keeps at most 196 frames."""
    rows = []
    for person in range(40):
        joints = np.round(walker(230, speed=0.02 + 0.001 * person).numpy() * 2000).astype(np.int16)
        steps = np.diff(joints, axis=0, prepend=np.zeros_like(joints[:1]))
        row = {"clip": f"{person:02d}_01", "subject": person, "label": "walk, veer left", "joints": steps.tobytes()}
        rows += [row, row | {"clip": f"{person:02d}_02", "label": "jump", "joints": steps[::-1].tobytes()}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "joints.parquet")
    monkeypatch.setattr(sys, "argv", ["it", str(tmp_path / "joints.parquet"), str(tmp_path / "walks.parquet")])
    runpy.run_path(str(FOLDER / "held_out_clips.py"), run_name="__main__")
    kept = pq.read_table(tmp_path / "walks.parquet").to_pylist()
    assert 0 < len(kept) < 20
    assert {row["prompt"] for row in kept} == {"a person walks, veers left"}
    assert f"{len(kept)} clips of {len(kept)} people" in capsys.readouterr().out
    words = ("manifest", "build", tmp_path / "walks.parquet", tmp_path / "m", "--signal", "motion", "--task", "path-5")
    assert run(*words) == 0
    (places,) = Manifest.open(str(tmp_path / "m")).index(("id", "prompt", "x_shape"))
    assert set(places["prompt"].to_pylist()) == {"a person walks, veers left"}
    assert [row[0] for row in places["x_shape"].to_pylist()] == [196] * len(kept)
