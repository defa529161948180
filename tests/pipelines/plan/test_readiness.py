"""Doomed work is refused by `plan`, `sweep` and `nightly` before a device is asked for; single bad rows are told."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from operators import InputError
from pipelines.manifest.schema import SCHEMA, manifest_digest, row_digest
from pipelines.plan.readiness import check_work
from pipelines.plan.sweep_spec import SweepSpec
from tests.pipelines.sweep_cases import build_manifest, run, specification, write_spec

TOO_LONG = "a word too many for it"
"""More than the 16 tokens of the tiny prior."""


@pytest.fixture(autouse=True)
def no_devices(monkeypatch):
    """Asking for Ray would be an error of its own."""

    def asked(*_, **__):
        raise AssertionError("a device was asked for")

    for place in ("sweep", "score.measurement_scores", "nightly.calibrating"):
        monkeypatch.setattr(f"pipelines.{place}.connect", asked)


@pytest.fixture
def changed(small_manifest, tmp_path):
    """A function that copies the small manifest with some rows changed, and its digests right."""

    def change(rows, **values):
        folder = shutil.copytree(small_manifest, tmp_path / "changed", dirs_exist_ok=True)
        (path,) = folder.glob("*.parquet")
        table = pq.read_table(path, schema=SCHEMA).to_pylist()
        for row in rows:
            table[row] |= values
        for row in table:
            row["digest"] = row_digest(row)
        pq.write_table(pa.Table.from_pylist(table, schema=SCHEMA), path)
        summary = json.loads((folder / "manifest.json").read_text())
        columns = ([row[name] for row in table] for name in ("id", "digest"))
        summary["digest"] = manifest_digest(*map(pa.array, columns))
        (folder / "manifest.json").write_text(json.dumps(summary))
        return folder

    return change


def refused(words, said, capsys):
    """The command ends with 2 and one sentence that holds all of these."""
    capsys.readouterr()
    assert run(*words) == 2
    message = capsys.readouterr().err.strip()
    assert message.count("\n") == 0, message
    for part in said:
        assert part in message, message


ALL = "all 6 measurements of task 'gaussian_blur' would fail, gaussian_blur/p0 the first: "
DOOMED = {
    "steps": (
        {"solver": {"settings": {"steps": 11, "iterations": 3}}},
        ["steps: 11 is more than the prior's 10 training steps (g2d2 on ", "4 of its 4 cells); use 1 to 10"],
    ),
    "steps in one cell": (
        {"grid": {"cross": {"steps": [4, 40]}}, "solver": {"settings": {"iterations": 3}}},
        ["steps: 40 is more than", "1 of its 2 cells)"],
    ),
    "small images": ({"metrics": ["psnr", "ssim"]}, ["metrics: ssim needs images of at least 11x11", "these are 8x8"]),
    "a prior of another kind": (
        {"solver": {"method": "dps"}, "grid": {}},
        ["prior: method 'dps' needs a prior of kind diffusion", "(dps on ", "known ones that are: ", "ddpm-cifar10"],
    ),
    "a value that is no number": (
        {"grid": {"cross": {"eta_kl": [0.1, float("nan")]}}},
        ["grid.cross.eta_kl", "is nan: it must be a finite number."],
    ),
    "a method": ({"solver": {"method": "no.such:thing"}}, ["method: 'no.such:thing' cannot be loaded"]),
}


@pytest.mark.parametrize("cause", DOOMED)
@pytest.mark.parametrize("command", ["plan", "sweep"])
def test_a_specification_that_cannot_be_solved_is_refused(command, cause, small_manifest, tiny_prior, tmp_path, capsys):
    changes, said = DOOMED[cause]
    spec = write_spec(tmp_path / "s.yaml", specification(small_manifest, tiny_prior, tmp_path / "out", **changes))
    refused([command, spec], said, capsys)
    assert not (tmp_path / "out" / "sweep.json").exists()


ROWS = {
    "prompt": ({"prompt": TOO_LONG}, "its prompt has 19 tokens and the prior's tokenizer allows 16"),
    "x_shape": (
        {"x_shape": [3, 16, 16]},
        "its images are 16x16 with 3 channels and the prior's 8x8 with 3 channels",
    ),
    "operator": ({"operator": "of_mine"}, "its operator cannot be made here (operator is 'of_mine': it must be one of"),
    "y_shape": ({"y_shape": [3, 4, 16]}, "its measurement is 16x4 with 3 channels and gaussian_blur makes 8x8"),
}


@pytest.mark.parametrize("field", ROWS)
def test_what_all_rows_share_is_refused_and_what_some_have_is_told(field, changed, tiny_prior, tmp_path, capsys):
    values, reason = ROWS[field]
    spec = write_spec(tmp_path / "s.yaml", specification(changed(range(6), **values), tiny_prior, tmp_path / "out"))
    for command in ("plan", "sweep"):
        refused([command, spec], [f"{field}: {ALL}{reason}", "select.tasks"], capsys)

    changed([1, 4], **values)
    assert run("plan", spec, "--json", "--no-calibration") == 0
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert warning.startswith(f"{field}: 2 of 6 measurements of task 'gaussian_blur' will fail, gaussian_blur/p1 the")
    assert reason in warning
    assert f"g2d2 manifest check {tmp_path / 'changed'} --prior {tiny_prior}" in warning
    assert run("plan", spec, "--no-calibration") == 0
    assert f"warning: {warning}" in capsys.readouterr().err


def test_a_prior_of_another_signal_is_refused(small_manifest, tmp_path, capsys):
    assert run("manifest", "build", "circle", tmp_path / "circle", "--signal", "motion") == 0
    for manifest, prior, reason in (
        (tmp_path / "circle", "cifar10", "it makes images, and these are motions; choose one such as cmu-motion"),
        (small_manifest, "cmu-motion", "it makes motions, and these are images; choose one such as cifar10"),
    ):
        values = specification(manifest, prior, tmp_path / "out", metrics=["residual"], grid={})
        for command in ("plan", "sweep"):
            spec = write_spec(tmp_path / "s.yaml", values)
            refused([command, spec], ["prior: all ", reason, ", or leave the task out with select.tasks."], capsys)
    assert run("manifest", "check", tmp_path / "circle", "--prior", "cifar10") == 1
    assert "path/circle: prior: it makes images, and these are motions." in capsys.readouterr().out


def test_an_estimate_is_made_of_a_row_that_can_be_solved(changed, tiny_prior, tmp_path, capsys):
    manifest = changed([0], prompt=TOO_LONG)
    spec = write_spec(tmp_path / "s.yaml", specification(manifest, tiny_prior, tmp_path / "out"))
    assert run("plan", spec, "--json") == 0
    assert json.loads(capsys.readouterr().out)["seconds_per_item"] > 0


def test_rows_that_take_no_part_and_prompts_that_are_ignored_do_not_count(changed, tiny_prior, tmp_path, capsys):
    manifest = changed([0, 1], prompt=TOO_LONG)
    blind = {"settings": {"steps": 4, "iterations": 3, "guidance": 0}}
    for changes in ({"select": {"skip": 2}}, {"solver": blind}):
        values = specification(manifest, tiny_prior, tmp_path / "out", **changes)
        assert run("plan", write_spec(tmp_path / "s.yaml", values), "--json", "--no-calibration") == 0
        assert json.loads(capsys.readouterr().out)["warnings"] == []


def test_an_operator_of_ones_own_is_looked_for_where_the_work_is_planned(
    changed, tiny_prior, tmp_path, monkeypatch, capsys
):
    """A module of the working directory is found; one that is not there refuses the task."""
    (tmp_path / "halving.py").write_text(
        "from operators import Linear\n\nclass Halving(Linear):\n    def _apply_forward(self, x):\n"
        "        return x / 2\n    def _apply_adjoint(self, y):\n        return y / 2\n"
    )
    monkeypatch.chdir(tmp_path)
    manifest = changed(range(6), operator="halving:Halving", operator_params="{}")
    spec = write_spec(tmp_path / "s.yaml", specification(manifest, tiny_prior, tmp_path / "out"))
    assert run("plan", spec, "--json", "--no-calibration") == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []
    manifest = changed(range(6), operator="no_such_module:Halving", operator_params="{}")
    spec = write_spec(tmp_path / "s.yaml", specification(manifest, tiny_prior, tmp_path / "out2"))
    refused(["plan", spec], ["operator: all 6 measurements of task", "No module named 'no_such_module'"], capsys)


@pytest.mark.parametrize("command", ["plan", "sweep", "nightly"])
def test_weights_that_are_missing_are_named(command, tiny_prior, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("eval.weights._places", lambda *_: iter(()))
    monkeypatch.delenv("G2D2_ALLOW_DOWNLOAD", raising=False)
    monkeypatch.setattr("eval.metrics.needs.metric_info", _small_lpips)
    values = specification(build_manifest(tmp_path), tiny_prior, tmp_path / "out", metrics=["psnr", "lpips_vgg"])
    if command == "nightly":
        own = {name: values.pop(name) for name in ("name", "output")}
        values = own | {"sweep": values}
    path = tmp_path / "s.yaml"
    path.write_text(yaml.safe_dump(values))
    refused([command, path], ["metrics: lpips_vgg cannot be measured here (weights: vgg16 was found in none"], capsys)
    assert not list((tmp_path / "out").rglob("*.json"))


def _small_lpips(name):
    """LPIPS as if it took the tiny prior's images."""
    from dataclasses import replace

    from eval.metrics.registry import metric_info

    return replace(metric_info(name), least_side=1)


def test_a_distance_without_its_network_is_told_and_refuses_nothing(
    small_manifest, tiny_prior, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("eval.weights._places", lambda *_: iter(()))
    monkeypatch.delenv("G2D2_ALLOW_DOWNLOAD", raising=False)
    values = specification(small_manifest, tiny_prior, tmp_path / "out", distribution=["fd_vgg16"])
    assert run("plan", write_spec(tmp_path / "s.yaml", values), "--json", "--no-calibration") == 0
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert warning.startswith("distribution: fd_vgg16 will have no value: weights: vgg16 was found in none")


@pytest.mark.parametrize("body", ["raise RuntimeError('no licence')", "import sys; sys.exit(3)", "solve = 3"])
def test_a_method_that_cannot_be_imported_is_one_sentence(
    body, small_manifest, tiny_prior, tmp_path, monkeypatch, capsys
):
    name = f"broken_method_{abs(hash(body))}"
    (tmp_path / f"{name}.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    values = specification(small_manifest, tiny_prior, tmp_path / "out", solver={"method": f"{name}:solve"})
    for command in ("plan", "sweep"):
        refused([command, write_spec(tmp_path / "s.yaml", values)], ["solver: method: ", f"'{name}:solve' "], capsys)


def test_manifest_check_names_every_row_that_a_prior_cannot_solve(changed, tiny_prior, small_manifest, capsys):
    assert run("manifest", "check", small_manifest, "--prior", tiny_prior) == 0
    manifest = changed([1, 4], prompt=TOO_LONG)
    capsys.readouterr()
    assert run("manifest", "check", manifest) == 0
    assert run("manifest", "check", manifest, "--prior", tiny_prior) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("gaussian_blur/")]
    reason = ROWS["prompt"][1]
    assert lines == [f"gaussian_blur/p1: {reason}.", f"gaussian_blur/p4: {reason}."]
    assert run("manifest", "check", manifest, "--prior", "cifar10") == 1
    out, err = capsys.readouterr()
    assert out.count("its images are 8x8 with 3 channels and the prior's 32x32 with 3 channels") == 6
    assert "6 problems" in err
    assert run("manifest", "check", manifest, "--prior", "nonsense") == 2


def test_rows_that_will_fail_are_told_when_a_sweep_starts(changed, tiny_prior, tmp_path, monkeypatch, capsys):
    class BegunError(Exception):
        pass

    def begin(*_, **__):
        raise BegunError

    monkeypatch.setattr("pipelines.working.Work._stages", begin)
    values = specification(changed([1], prompt=TOO_LONG), tiny_prior, tmp_path / "out")
    with pytest.raises(BegunError):
        run("sweep", write_spec(tmp_path / "s.yaml", values))
    assert "warning: prompt: 1 of 6 measurements" in capsys.readouterr().err


def test_what_is_complete_needs_neither_prior_nor_weights(small_manifest, monkeypatch):
    monkeypatch.setattr("eval.weights._places", lambda *_: iter(()))
    values = specification(small_manifest, "nowhere", "out", metrics=["lpips_vgg"])
    assert check_work(SweepSpec(**values), [], solving=False, scoring=False) == []
    with pytest.raises(InputError, match="lpips_vgg cannot be measured here"):
        check_work(SweepSpec(**values), [], solving=False, scoring=True)
