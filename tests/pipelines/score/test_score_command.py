"""`g2d2 score`: what it adds is in the report, in comparisons and in the table; what is not complete says so."""

import json
import re

import numpy as np
import pytest

from pipelines.report import PAGE
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.track.cell_run import cell_content
from pipelines.track.panels import Panels
from tests.pipelines.sweep_cases import run, specification, write_spec

pytestmark = pytest.mark.usefixtures("local_ray")


@pytest.fixture(scope="module")
def made(local_ray, small_manifest, tiny_prior, tmp_path_factory):
    """A specification with its sweep: two cells of six images, scored with PSNR alone."""
    root = tmp_path_factory.mktemp("score")
    values = specification(small_manifest, tiny_prior, root / "o", metrics=["psnr"])
    values |= {"grid": {"cross": {"process": ["star", "markov"]}}, "keep": {"floats": True}}
    path = write_spec(root / "s.yaml", values)
    assert run("sweep", path) == 0
    return path, SweepFolder(values["output"])


def shown_metrics(folder):
    """Names in the report's page, by the data it draws from."""
    assert run("report", folder.url) == 0
    page = folder.store.read_bytes(PAGE).decode()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])
    return [metric["name"] for metric in data["metrics"]], page


def collected(folder):
    (name,) = [name for name in folder.store.list("results/") if not name.endswith("-distribution.parquet")]
    return folder.store.read_table(name)


def test_scores_come_from_the_stored_picture_even_where_floats_are_kept(made):
    from operators.pictures import decode_image
    from pipelines.manifest import Manifest, decode_truth, read_row

    _, folder = made
    scores = {row["item"]: row for row in collected(folder).to_pylist()}
    manifest = Manifest.open(json.loads(folder.store.read_bytes("sweep.json"))["specification"]["manifest"])
    row = folder.read_solved(sorted(folder.solved_shards())[0]).to_pylist()[0]
    assert row["floats"] is not None
    truth = decode_truth(read_row(manifest.fetch([(row["manifest_shard"], row["manifest_row"])]), 0))
    error = (decode_image(row["x"], "it") - truth) / 2
    expected = -10 * np.log10(float((error.double() ** 2).mean()))
    assert scores[row["item"]]["psnr"] == pytest.approx(expected, abs=1e-6)
    assert scores[row["item"]]["batch_rows"] == row["batch_rows"]
    assert (scores[row["item"]]["device"], scores[row["item"]]["networks"]) == ("cpu", "float32")
    assert scores[row["item"]]["prior_calls"] == 4


def test_what_is_scored_later_is_reported_compared_and_collected(made, capsys):
    path, folder = made
    assert run("score", folder.url, "--metrics", "psnr", "psnr_8bit") == 0
    assert "psnr_8bit" in capsys.readouterr().out.splitlines()[0]
    assert shown_metrics(folder)[0] == ["psnr", "psnr_8bit"]
    table = collected(folder)
    assert np.isfinite(table["psnr_8bit"].to_numpy()).all()
    sweep = StoredSweep.read(folder)
    assert all("psnr_8bit" in cell_content(sweep, cell, Panels(sweep)).metrics() for cell in sweep.record.cells)
    capsys.readouterr()
    assert run("compare", folder.url, folder.url, "--tolerance", "psnr_8bit=0.1") == 0
    assert "psnr_8bit" in capsys.readouterr().out
    assert run("score", folder.url, "--metrics", "residual") == 0
    assert run("sweep", path) == 0  # the sweep's own command keeps what was added
    assert shown_metrics(folder)[0] == ["psnr", "psnr_8bit", "residual"]
    assert run("report", folder.url, "--metrics", "residual", "--json") == 0
    assert run("report", folder.url, "--metrics", "ssim") == 2
    assert "it has psnr, psnr_8bit, residual" in capsys.readouterr().err


def test_a_scoring_that_is_not_complete_says_so(made, capsys):
    """Interrupted, it leaves some shards without its metric: those images are missing, not averaged away."""
    _, folder = made
    assert run("score", folder.url, "--metrics", "psnr_8bit") == 0
    (added,) = [
        one for one in folder.read_summary()["added_scorings"] if one["metrics"] == ["psnr_8bit"]
    ]  # fmt: skip
    lost = sorted(folder.scored_shards(added["id"]))[0]
    rows = len(folder.store.read_table(folder.scores_name(added["id"], lost)))
    folder.store.delete(folder.scores_name(added["id"], lost))
    for name in folder.store.list("results/"):
        folder.store.delete(name)
    capsys.readouterr()
    note = f"psnr_8bit is scored for {12 - rows} of 12 images"
    assert note in shown_metrics(folder)[1]
    assert f"note: {note}" in capsys.readouterr().out
    assert run("score", folder.url, "--metrics", "psnr_8bit") == 0
    assert "note:" not in capsys.readouterr().out
    assert collected(folder)["psnr_8bit"].null_count == 0
