"""The paper's motion experiment: every specification plans, with the paper's settings and on its densities."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eval.distribution.motion_names import set_names
from eval.metrics import Scored, build_metric
from g2d2.methods import find_method
from g2d2.priors.locating import locate_prior
from operators.skeleton import features_from_joints
from pipelines.manifest import Manifest, decode_truth, read_row
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
    "mini-captured": 3, "mini-actions": 3, "mini-distance": 2, "mini-own-paths": 2,
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


def test_star_and_markov_are_tuned_alike():
    tuning = load_spec(FOLDER / "tuning" / "embedded.yaml")
    arms = tuning.all_arms()
    assert arms["star"].grid == arms["markov"].grid
    assert len(arms["star"].grid.points) == 10


@pytest.fixture
def people(tmp_path):
    """Of people 0 to 39 some are held out by the hash of their number; each walks and jumps, for 229 frames."""
    rows = []
    for person in range(40):
        joints = np.round(walker(230, speed=0.02 + 0.001 * person).numpy() * 2000).astype(np.int16)
        steps = np.diff(joints, axis=0, prepend=np.zeros_like(joints[:1]))
        row = {"clip": f"{person:02d}_01", "subject": person, "label": "walk, veer left", "joints": steps.tobytes()}
        rows += [row, row | {"clip": f"{person:02d}_02", "label": "jump", "joints": steps[::-1].tobytes()}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "joints.parquet")
    return tmp_path


def held_out(folder, monkeypatch, out, *more):
    words = ["it", folder / "joints.parquet", folder / f"{out}.parquet", *more]
    monkeypatch.setattr(sys, "argv", [str(word) for word in words])
    runpy.run_path(str(FOLDER / "held_out_clips.py"), run_name="__main__")


def built(folder, name, *more):
    """A manifest's clips by their ids, its rows and its length."""
    words = ("manifest", "build", folder / f"{name}.parquet", folder / name, "--signal", "motion", "--task", "path-5")
    assert run(*words, *more) == 0
    (rows,) = Manifest.open(str(folder / name)).index(("id", "prompt", "x_shape"))
    return [id.split("/")[1] for id in rows["id"].to_pylist()], rows


def test_settings_are_chosen_on_clips_that_nothing_judges(people, monkeypatch):
    """By the ids of clips, as README.md builds the three manifests: all that is judged, then what is left."""
    held_out(people, monkeypatch, "walks", "walk")
    walks, _ = built(people, "walks", "--limit", "2")
    held_out(people, monkeypatch, "actions", "")
    actions, _ = built(people, "actions", "--limit", "4")
    held_out(people, monkeypatch, "tuning", "walk", people / "walks", people / "actions")
    tuning, _ = built(people, "tuning")
    assert (len(walks), len(actions)) == (2, 4)
    assert set(walks) & set(actions), "the first rows of both are of the same people"
    assert tuning
    assert not set(tuning) & {*walks, *actions}
    assert all(name.endswith("_01") for name in tuning)


def test_the_tuned_settings_come_from_a_manifest_that_is_not_judged():
    tuning = load_spec(FOLDER / "tuning" / "embedded.yaml")
    assert tuning.manifest not in {spec.manifest for spec in SPECS.values()}
    made = {SPECS[name].manifest for name in ("mini", "mini-own-paths")}  # of no captured clip
    judged = {spec.manifest for spec in SPECS.values() if spec.prior == EMBEDDED} - made
    commands = (FOLDER / "README.md").read_text().replace("\\\n", " ").splitlines()
    (command,) = (line for line in commands if "held_out_clips.py" in line and "tuning.parquet" in line)
    assert len(judged) == 2
    assert all(f" {manifest} " in f"{command} " for manifest in judged)


def test_walks_of_the_prior_itself_become_a_manifest(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["it", str(tmp_path / "samples"), "2"])
    runpy.run_path(str(FOLDER / "own_samples.py"), run_name="__main__")
    assert "2 motions of 'a person walks'" in capsys.readouterr().out
    made = [np.load(path) for path in sorted((tmp_path / "samples").glob("*.npy"))]
    assert [motion.shape for motion in made] == [(196, 263)] * 2
    assert not np.array_equal(*made)
    words = ("manifest", "build", tmp_path / "samples", tmp_path / "paths", "--signal", "motion", "--task", "path-5")
    assert run(*words, "--prompt", "a person walks") == 0


def test_the_guidance_of_the_tuning_is_the_one_that_was_settled_by_prompts(monkeypatch, capsys):
    """All settings but the paper's own, and unguided samples, have it; the script tries it beside no guidance."""
    points = load_spec(FOLDER / "tuning" / "embedded.yaml").all_arms()["star"].grid.points
    assert {point["guidance"] for point in points[1:]} == {2}
    script = runpy.run_path(str(FOLDER / "told_prompts.py"))
    assert {1.0, 2.0} <= set(script["GUIDANCES"])
    assert script["PROMPTS"] == ["a person walks", "a person runs", "a person jumps"]
    script["main"].__globals__.update(COUNT=2, GUIDANCES=(1.0, 2.0))
    script["main"](EMBEDDED)
    told = capsys.readouterr().out
    assert re.findall(r"guidance (\d): \d of 6", told) == ["1", "2"]
    assert len(re.findall(r"sliding 0\.\d{3}", told)) == 6


def test_feet_of_real_clips_reconstructions_and_samples(manifests, monkeypatch, capsys):
    """The walker of the tests slides with both feet near the floor; a body in its drawn paths is none."""
    monkeypatch.setattr(sys, "argv", ["it", manifests["captured"], EMBEDDED])
    runpy.run_path(str(FOLDER / "standing_feet.py"), run_name="__main__")
    count, real, made, samples = capsys.readouterr().out.splitlines()
    assert count == "1 clips"
    x = decode_truth(read_row(Manifest.open(manifests["captured"]).fetch([(0, 0)]), 0))[None]
    on, slides = (
        float(build_metric(name)(Scored(None, x, signal="motion"))) for name in ("feet_on_floor", "foot_skating")
    )
    expected = f"a toe on the floor in {on:.3f}, sliding {slides:.3f}, of steps on the floor {slides / on:.3f}"
    assert real == f"real motions: {expected}"
    assert made.startswith(f"{EMBEDDED}, reconstructions: a toe on the floor in ")
    assert samples.startswith(f"{EMBEDDED}, samples: a toe on the floor in ")
    monkeypatch.setattr(sys, "argv", ["it", manifests["drawn"]])
    with pytest.raises(SystemExit, match="it holds no ground truth"):
        runpy.run_path(str(FOLDER / "standing_feet.py"), run_name="__main__")


def test_clips_of_held_out_people_become_a_manifest(people, monkeypatch, capsys):
    """Each keeps at most 196 frames."""
    held_out(people, monkeypatch, "walks")
    kept = pq.read_table(people / "walks.parquet").to_pylist()
    assert 0 < len(kept) < 20
    assert {row["prompt"] for row in kept} == {"a person walks, veers left"}
    assert f"{len(kept)} clips of {len(kept)} people" in capsys.readouterr().out
    _, places = built(people, "walks")
    assert set(places["prompt"].to_pylist()) == {"a person walks, veers left"}
    assert [row[0] for row in places["x_shape"].to_pylist()] == [196] * len(kept)
