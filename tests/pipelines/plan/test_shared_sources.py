"""Races on measurements of the same clip or drawn path are warned of, others are not."""

import numpy as np

from operators.skeleton import features_from_joints
from operators.validation import validate
from pipelines.plan.shared_sources import shared_sources
from pipelines.plan.sweep_spec import SweepSpec
from tests.operators.skeleton.clips import walker
from tests.pipelines.sweep_cases import build_manifest, run


def warnings(manifest, **select):
    values = {"name": "shared", "manifest": str(manifest), "output": "nowhere", "prior": "cifar10", "select": select}
    return list(shared_sources(validate(SweepSpec, values, where="specification")))


def test_windows_of_one_clip(tmp_path):
    (tmp_path / "clips" / "01").mkdir(parents=True)
    for name, length in {"long": 250, "short": 60, "01/01": 60, "01/02": 60}.items():
        np.save(tmp_path / "clips" / f"{name}.npy", features_from_joints(walker(length + 1)[None])[0].numpy())
    build = "manifest", "build", tmp_path / "clips", tmp_path / "m", "--signal", "motion", "--cut"
    assert run(*build) == 0
    (warning,) = warnings(tmp_path / "m")
    assert warning.startswith("path: its 5 measurements are of 4 clips; a race takes them as independent draws")
    assert warnings(tmp_path / "m", limit=2) == []


def test_prompts_of_one_drawn_path(tmp_path):
    (tmp_path / "prompts.txt").write_text("a person walks\na person runs\n")
    build = "manifest", "build", "circle", tmp_path / "m", "--signal", "motion"
    assert run(*build, "--prompts", tmp_path / "prompts.txt", "--task", "path-5") == 0
    (warning,) = warnings(tmp_path / "m")
    assert warning.startswith("path-5: its 2 measurements are of 1 drawn path; a race takes them")


def test_pictures_are_one_each(tmp_path):
    assert warnings(build_manifest(tmp_path)) == []
