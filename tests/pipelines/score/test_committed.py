"""What commands show is what is committed for the present plan, whatever was collected before."""

import json

import pytest

from operators.validation import validate
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.storage.sweep_folder import SweepFolder
from tests.pipelines.nightly.hand_solved import HandSolved
from tests.pipelines.sweep_cases import run, specification, write_spec


class Interrupted:
    """A sweep of 24 rows, of which two failed, whose next work is cut short."""

    def __init__(self, values, folder, monkeypatch):
        self.path, self.url = write_spec(folder / "spec.yaml", values), values["output"]
        HandSolved(failed={("star", 0)})(validate(SweepSpec, values, where="specification"))

        def cut_short(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr("pipelines.working.Work._stages", cut_short)


@pytest.fixture
def sweep(small_manifest, tiny_prior, tmp_path, monkeypatch):
    return Interrupted(specification(small_manifest, tiny_prior, tmp_path / "o"), tmp_path, monkeypatch)


def report(url, capsys):
    capsys.readouterr()
    code = run("report", url, "--json")
    return code, json.loads(capsys.readouterr().out)


def test_an_interrupted_retry_is_reported_as_unfinished(sweep, capsys):
    code, facts = report(sweep.url, capsys)
    assert (code, facts["scored"], facts["failed"], facts["missing"]) == (1, 24, 2, 0)
    assert run("sweep", sweep.path, "--retry-failed") == 130
    code, facts = report(sweep.url, capsys)
    assert (code, facts["scored"], facts["failed"], facts["missing"]) == (2, 22, 0, 2)


def test_a_lost_table_of_results_is_read_from_the_shards(sweep, capsys):
    folder = SweepFolder(sweep.url)
    for name in folder.store.list("results/"):
        folder.store.delete(name)
    code, facts = report(sweep.url, capsys)
    assert (code, facts["scored"], facts["failed"], facts["missing"]) == (1, 24, 2, 0)


def test_a_table_of_other_items_is_not_taken(sweep, capsys):
    """As long as the plan, but about something else."""
    folder = SweepFolder(sweep.url)
    (name,) = folder.store.list("results/")
    table = folder.store.read_table(name)
    strange = table.set_column(0, "item", [[f"{index:032x}" for index in range(len(table))]])
    errors = table.column_names.index("error")
    folder.store.write_table(name, strange.set_column(errors, "error", [[None] * len(table)]))
    code, facts = report(sweep.url, capsys)
    assert (code, facts["scored"], facts["failed"]) == (1, 24, 2)


@pytest.mark.parametrize("lost", ["cells", "plan/", "results/", "sweep.json", "everything"])
def test_what_can_be_derived_is_written_again(lost, small_manifest, tiny_prior, tmp_path, capsys):
    values = specification(small_manifest, tiny_prior, tmp_path / "o", metrics=["residual"])
    path = write_spec(tmp_path / "spec.yaml", values)
    HandSolved()(validate(SweepSpec, values, where="specification"))
    store = SweepFolder(values["output"]).store
    kept = {name: store.read_bytes(name) for name in store.list() if name.startswith(("solved/", "scores/"))}
    for name in store.list():
        if lost in name or (lost == "everything" and name not in kept):
            store.delete(name)
    assert run("sweep", path, "--json") == 0
    capsys.readouterr()
    assert run("status", values["output"], "--json") == 0
    assert json.loads(capsys.readouterr().out)["scored"] == 24
    assert report(values["output"], capsys)[0] == 0
    assert {name: store.read_bytes(name) for name in kept} == kept


def test_failed_rows_are_counted_before_they_are_scored(sweep, capsys):
    folder = SweepFolder(sweep.url)
    for name in folder.store.list("scores/"):
        folder.store.delete(name)
    capsys.readouterr()
    assert run("status", sweep.url, "--json") == 2
    status = json.loads(capsys.readouterr().out)
    assert (status["solved"], status["scored"], status["failed"]) == (24, 0, 2)
    assert status["errors"] == {"it failed": 2}
