"""The folder of a finished sweep, tampered with: commands say what is wrong, and a resumed sweep loses nothing."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.fuzz.cases import amounts, each_case
from tests.fuzz.oracle import g2d2
from tests.fuzz.tampering import tampered, tamperings
from tests.pipelines.sweep_cases import run, specification, write_spec

SWEEP = Path("sweep")
LEAVE = [".html"]
"""Pages are written and never read."""


@pytest.fixture(scope="session")
def finished(local_ray, tiny_prior, manifest, tmp_path_factory):
    """The output of two cells over three measurements, with traces, in three shards."""
    folder = tmp_path_factory.mktemp("finished")
    values = specification(
        manifest, tiny_prior, folder / "sweep",
        solver={"settings": {"steps": 2, "iterations": 1, "guidance": 1}},
        grid={"cross": {"process": ["star", "markov"]}}, keep={"traces": True}, resources={"shard": 2, "devices": 1},
    )  # fmt: skip
    assert run("sweep", write_spec(folder / "spec.yaml", values)) == 0
    assert run("report", folder / "sweep") == 0
    return folder / "sweep", values


@amounts(quick=60, slow=1500)
def test_commands_that_read(examples, finished):
    whole, _ = finished
    (table,) = (whole / "results").glob("*.parquet")

    def check(case):
        tampered(whole, SWEEP, case)
        g2d2("status", SWEEP, "--json")
        g2d2("report", SWEEP, "--out", "page.html")
        g2d2("compare", SWEEP / table.relative_to(whole), table)

    plan, cells = (
        str(path.relative_to(whole)) for path in sorted((whole / "plan").iterdir(), key=lambda p: len(p.name))
    )
    (measured,) = (str(path.relative_to(whole)) for path in (whole / "references").glob("*.parquet"))
    seen = [(plan, "item", "fewer"), (plan, "measurement", "nulls"), (cells, "index", "fewer"),
            (measured, "task", "nulls"), (measured, "measurement", "drop")]  # fmt: skip
    also = [("sweep.json", "bytes", b"{}"), *((name, "inside", (column, way)) for name, column, way in seen)]
    each_case(examples, tamperings(whole, LEAVE), check, also)


@amounts(quick=8, slow=150)
def test_scoring_again(examples, finished, tmp_path):
    whole, _ = finished

    def check(case):
        tampered(whole, SWEEP, case)
        if g2d2("score", tmp_path / SWEEP).code == 0:
            assert g2d2("status", SWEEP).code == 0

    each_case(examples, tamperings(whole, LEAVE), check)


@amounts(quick=None, slow=60)
def test_tracking(examples, finished):
    whole, _ = finished

    def check(case):
        tampered(whole, SWEEP, case)
        g2d2("track", SWEEP, "--uri", "sqlite:///mlflow.db")

    each_case(examples, tamperings(whole, LEAVE), check)


def scores(folder):
    """Item and PSNR of every row of the table that the sweep says is its result."""
    summary = json.loads((folder / "sweep.json").read_text())
    rows = pq.read_table(folder / f"results/{summary['plan'][:8]}-{summary['scoring'][:8]}.parquet").to_pylist()
    return sorted((row["item"], row["psnr"], row["error"]) for row in rows)


@amounts(quick=6, slow=100)
def test_a_resumed_sweep_loses_and_doubles_nothing(examples, finished, tmp_path):
    whole, values = finished
    expected = scores(whole)
    spec = write_spec(tmp_path / "spec.yaml", values | {"output": str(tmp_path / SWEEP)})

    def check(case):
        tampered(whole, SWEEP, case)
        resumed = g2d2("sweep", spec)
        if resumed.code == 0:
            assert scores(SWEEP) == expected
            assert g2d2("status", SWEEP).code == 0
            assert g2d2("report", SWEEP, "--out", "page.html").code == 0

    each_case(examples, tamperings(whole, LEAVE), check)
