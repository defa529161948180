"""What a night leaves behind, also where the page or MLflow fails: the verdict first, one page for both places."""

import json
import shutil
from pathlib import Path

import pytest

from tests.pipelines.nightly.hand_solved import change
from tests.pipelines.sweep_cases import run
from tests.pipelines.track.conftest import empty_database  # noqa: F401  # a fixture


@pytest.fixture
def tracked(quick, empty_database, tmp_path, monkeypatch):  # noqa: F811
    """A night by hand, logged to a database of its own; also the pages that its runs hold."""
    from mlflow import MlflowClient

    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    path, night = quick
    database = tmp_path / "out" / "mlflow.db"
    database.parent.mkdir()
    shutil.copy(empty_database, database)
    change(path, tracking={"enabled": True, "panels": 0})

    def pages(run):
        return Path(MlflowClient(f"sqlite:///{database}").download_artifacts(run["id"], "report.html")).read_bytes()

    return path, night, pages


def kept(tmp_path, name, file):
    return (tmp_path / "out" / "history" / name / file).read_bytes()


def broken(*_, **__):
    raise RuntimeError("planted at http://me:secret@host")


@pytest.mark.parametrize("part", ["render_sweep", "nightly_section", "track", "NightlyFolder.prune"])
def test_whatever_fails_after_the_verdict_costs_a_warning(part, tracked, tmp_path, monkeypatch, capsys):
    path, _, _ = tracked
    monkeypatch.setattr(f"pipelines.nightly.keeping.{part}", broken)
    assert run("nightly", path, "--night", "a") == 0
    said = capsys.readouterr()
    assert "RuntimeError: planted at http://host" in said.err
    assert "no baseline: nothing was compared" in said.out
    record, verdict = (json.loads(kept(tmp_path, "a", name)) for name in ("night.json", "verdict.json"))
    assert record == verdict["night"]
    assert (record["run"] is None) == (part == "track")
    assert ("report.html" in verdict["files"]) == (part not in ("render_sweep", "nightly_section"))
    assert kept(tmp_path, "a", "junit.xml")
    assert kept(tmp_path, "a", "scores.parquet")


def test_the_verdict_is_there_before_anything_else_begins(tracked, tmp_path, monkeypatch):
    def gone(*_, **__):
        raise SystemExit("the machine went away")

    path, _, _ = tracked
    monkeypatch.setattr("pipelines.nightly.keeping.render_sweep", gone)
    with pytest.raises(SystemExit):
        run("nightly", path, "--night", "a")
    for name in ("night.json", "verdict.json", "junit.xml", "summary.md", "scores.parquet"):
        assert kept(tmp_path, "a", name)


def test_one_page_is_made_and_mlflow_has_it_also_when_judged_again(tracked, tmp_path, monkeypatch):
    import pipelines.report

    path, night, pages = tracked
    made, render = [], pipelines.report.render_page
    monkeypatch.setattr("pipelines.report.render_page", lambda *words: made.append(words) or render(*words))
    _, first = night("a")
    assert len(made) == 1
    assert pages(first["night"]["run"]) == kept(tmp_path, "a", "report.html")
    assert b"Nightly: a" in pages(first["night"]["run"])

    night("b")
    assert run("nightly", "accept", path, "--night", "b", "--reason", "right") == 0
    _, again = night("a")
    assert again["night"]["run"] == first["night"]["run"]
    assert b"accepted" in kept(tmp_path, "a", "report.html")
    assert pages(again["night"]["run"]) == kept(tmp_path, "a", "report.html")


def test_a_run_is_remembered_where_judging_again_cannot_log(tracked, monkeypatch):
    _, night, _ = tracked
    _, first = night("a")
    monkeypatch.setattr("pipelines.nightly.keeping.track", broken)
    _, again = night("a")
    assert first["night"]["run"] == again["night"]["run"] is not None
