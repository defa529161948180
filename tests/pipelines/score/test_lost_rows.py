"""A committed file that lacks rows: every command counts the same rows and names the file."""

import json

import pytest

from pipelines.plan.sweep_spec import load_spec
from pipelines.storage.sweep_folder import SweepFolder
from tests.pipelines.nightly.hand_solved import HandSolved
from tests.pipelines.sweep_cases import run, specification, write_spec


@pytest.fixture
def sweep(small_manifest, tiny_prior, tmp_path):
    """A sweep that is complete, by its specification and its folder."""
    values = specification(small_manifest, tiny_prior, tmp_path / "o", metrics=["residual"])
    path = write_spec(tmp_path / "spec.yaml", values)
    HandSolved()(load_spec(path))
    return path, SweepFolder(values["output"])


def lose_a_row(folder, name):
    table = folder.store.read_table(name)
    folder.store.write_table(name, table.slice(1))
    held = f"{len(table) - 1} of its {len(table)} rows"
    return f"{folder.store.url(name)} holds {held}; remove it and run the sweep again"


def printed(capsys, *words):
    capsys.readouterr()
    code = run(*words)
    return code, capsys.readouterr().out


@pytest.mark.parametrize("lost", [["solved/", "scores/"], ["scores/"]])
def test_lost_rows_are_told_by_all_commands(lost, sweep, capsys, monkeypatch):
    spec, folder = sweep
    sentence, *_ = [lose_a_row(folder, folder.store.list(kind)[0]) for kind in lost]
    code, out = printed(capsys, "sweep", spec)
    assert (code, out.count(sentence)) == (2, 1)
    assert "23 of 24 work items committed" in out
    code, out = printed(capsys, "status", folder.url)
    assert (code, out.count(sentence)) == (2, 1)
    assert f"23 of 24 work items scored, {25 - len(lost)} solved" in out
    code, out = printed(capsys, "report", folder.url)
    assert (code, out.count(sentence)) == (2, 1)

    work = []
    monkeypatch.setattr("pipelines.working.Work._stages", lambda _, *shards: work.extend(shards[:2]) or [])
    folder.store.delete(folder.store.list(lost[0])[0])
    run("sweep", spec)
    assert [len(shards) for shards in work] == ([1, 0] if "solved/" in lost else [0, 1])


def test_what_is_not_solved_yet_is_not_lost(sweep, capsys):
    _, folder = sweep
    for kind in ("solved/", "scores/"):
        folder.store.delete(folder.store.list(kind)[0])
    code, out = printed(capsys, "status", folder.url, "--json")
    assert (code, json.loads(out)["notes"]) == (2, [])


def test_a_sweep_ends_with_its_own_scores_where_another_began_meanwhile(sweep, capsys, monkeypatch):
    """In an output that both share, `sweep.json` is the other's by then."""
    spec, folder = sweep
    summary = folder.read_summary()
    other = summary | {"plan": "0" * 32, "scoring": "1" * 32, "specification": summary["specification"] | {"name": "b"}}
    monkeypatch.setattr("pipelines.sweep.score_measurements", lambda *_: folder.write_summary(other))
    code, out = printed(capsys, "sweep", spec, "--json")
    facts = json.loads(out)
    assert (code, facts["complete"], facts["committed"]) == (0, True, 24)
    assert summary["scoring"][:8] in facts["scores"]
