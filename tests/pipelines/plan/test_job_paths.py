"""Paths in a specification, as a job on other machines has to name them."""

from pathlib import Path

import pytest

from cluster.jobs import place_included
from operators.validation import validate
from pipelines.plan.job_paths import local_paths, names_folder, place_paths, remedy
from pipelines.plan.sweep_spec import SweepSpec
from tests.pipelines.sweep_cases import specification


def sweep(manifest="m", prior="cifar10", output="o", **changes):
    return validate(SweepSpec, specification(manifest, prior, output, **changes), where="specification")


def test_relative_paths_are_meant_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "priors" / "mine").mkdir(parents=True)
    uri = {"uri": "sqlite:///runs.db"}
    placed = place_paths(sweep("m", "priors/mine", "s3://bucket/o/", tracking=uri), {})
    assert (placed.manifest, placed.output) == (str(tmp_path / "m"), "s3://bucket/o")
    assert placed.prior == str(tmp_path / "priors" / "mine")
    assert placed.tracking.uri == f"sqlite:///{tmp_path}/runs.db"
    assert list(local_paths(placed)) == ["manifest", "prior", "tracking.uri"]


def test_nothing_else_is_changed():
    spec = sweep("s3://bucket/m", "cifar10", "s3://bucket/o", keep={"traces": True, "snapshots_at": [3]})
    assert place_paths(spec, {}) == spec
    assert local_paths(spec) == {}


def test_inputs_that_travel_are_named_as_in_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "m").mkdir(parents=True)
    placed = place_paths(sweep("data/m", "cifar10", "s3://bucket/o"), place_included([tmp_path / "data"]))
    assert placed.manifest == "data/m"
    assert local_paths(placed) == {}


def test_inputs_that_travel_are_found_from_beside_them(tmp_path, monkeypatch):
    (tmp_path / "data" / "m").mkdir(parents=True)
    (tmp_path / "data" / "prior").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    included = place_included([Path("../data/m"), Path("../data/prior")])
    placed = place_paths(sweep("../data/m", "../data/prior", "s3://bucket/o"), included)
    assert (placed.manifest, placed.prior) == ("m", "prior")
    outside = place_paths(sweep("../data/m/../n", "cifar10", "s3://bucket/o"), included)
    assert list(local_paths(outside)) == ["manifest"]


def test_the_size_behind_a_prior_travels_with_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "priors" / "ldm").mkdir(parents=True)
    (tmp_path / "priors" / "called@64").mkdir()
    arms = {"a": {"prior": "priors/ldm@64"}, "b": {"prior": "priors/ldm@320x240"}, "c": {"prior": "priors/called@64"}}
    spec = sweep("s3://bucket/m", "priors/ldm@16", "s3://bucket/o", solver={}, grid={}, arms=arms)
    stay = place_paths(spec, {})
    assert (stay.prior, stay.arms["a"].prior) == (f"{tmp_path}/priors/ldm@16", f"{tmp_path}/priors/ldm@64")
    assert list(local_paths(stay)) == ["prior", "arms.a.prior", "arms.b.prior", "arms.c.prior"]
    travel = place_paths(spec, place_included([Path("priors")]))
    assert travel == spec  # as in the package: relative to the folder that the job starts in
    assert local_paths(travel) == {}


@pytest.mark.parametrize(
    "prior",
    ["cifar10", "someone/hub-id", "my_priors:Mine", "my.priors:Mine", "sd15@256", "someone/hub-id@64x32"],
)
def test_a_prior_that_is_no_folder_stays_as_it_is(prior):
    assert not names_folder(prior)
    assert place_paths(sweep("s3://bucket/m", prior, "s3://bucket/o"), {}).prior == prior


def test_a_path_has_a_remedy():
    assert "--include" not in remedy("output")
    assert "--include" in remedy("manifest")
    assert "--include" in remedy("arms.mine.prior")
    assert "http://" in remedy("tracking.uri")
