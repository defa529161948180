"""The demo is a sweep like any other: it ends with tables and the way on, and solves nothing twice."""

import pytest

from pipelines import cli


@pytest.mark.slow
def test_the_demo_ends_with_tables_and_shows_them_again(local_ray, tmp_path, capsys):
    assert cli.main(["demo", "--out", str(tmp_path), "--images", "1"]) == 0
    out = capsys.readouterr().out
    assert "star, ddrm minus markov, each at its best" in out
    assert "18 of 18 work items committed, 0 twice, 0 failed" in out
    assert f"report {tmp_path}/sweep" in out
    assert f"ui --backend-store-uri sqlite:///{tmp_path}/sweep/mlflow.db" in out
    written = times(tmp_path / "sweep" / "solved")
    assert cli.main(["demo", "--out", str(tmp_path), "--images", "1"]) == 0
    assert times(tmp_path / "sweep" / "solved") == written
    assert "18 of 18 work items committed" in capsys.readouterr().out


def times(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}


def test_a_number_of_pictures_that_cannot_be(tmp_path, capsys):
    assert cli.main(["demo", "--out", str(tmp_path), "--images", "0"]) == 2
    assert "select.limit" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
