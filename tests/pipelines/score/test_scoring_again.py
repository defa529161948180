"""Scoring what is scored: nothing is done for nothing, and nothing is lost to what cannot be done."""

import numpy as np
import pyarrow as pa
import pytest

from eval.distribution import Unavailable
from operators.validation import validate
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.score import features
from pipelines.score.scorings import SCORING_VERSION, known_scorings
from pipelines.storage.sweep_folder import SweepFolder
from tests.pipelines.nightly.hand_solved import HandSolved
from tests.pipelines.sweep_cases import run, specification, write_spec


@pytest.fixture
def solved(small_manifest, tiny_prior, tmp_path, monkeypatch):
    """Makes a finished sweep; Ray is never started."""
    monkeypatch.setattr("pipelines.sweep.connect", lambda: pytest.fail("Ray was started"))
    monkeypatch.setattr("pipelines.score.measurement_scores.connect", lambda: pytest.fail("Ray was started"))

    def make(**changes):
        values = specification(small_manifest, tiny_prior, tmp_path / "o", **changes)
        path = write_spec(tmp_path / "s.yaml", values)
        HandSolved()(validate(SweepSpec, values, where="specification"))
        return path, SweepFolder(values["output"])

    return make


def without_inception(network):
    return Unavailable("no weights here") if network == "inception" else "vgg16, whose features are there"


@pytest.mark.parametrize("distribution", [["fid"], ["fid", "fd_vgg16"]])
def test_a_finished_sweep_starts_nothing_for_a_network_that_is_missing(distribution, solved, monkeypatch, capsys):
    monkeypatch.setattr(features, "load_extractor", without_inception)
    path, folder = solved(metrics=["residual"], distribution=distribution)
    (scoring,) = known_scorings(folder)
    if "fd_vgg16" in distribution:
        for shard in folder.solved_shards():
            rows = folder.read_solved(shard, ["cell", "item", "measurement", "seed"]).to_pylist()
            truths = [row | {"cell": "truth", "item": None, "seed": 0} for row in rows]
            table = pa.Table.from_pylist([*rows, *truths])
            numbers = pa.array(np.random.default_rng(0).random(4 * len(table), np.float32))
            table = table.append_column("features", pa.FixedSizeListArray.from_arrays(numbers, 4))
            folder.store.write_table(folder.features_name(scoring.id, "vgg16", shard), table)
    for words in (["sweep", path], ["score", folder.url]):
        assert run(*words) == 0
        out = capsys.readouterr().out
        assert "fid of 4 cells: no weights here" in out
        assert "fd_vgg16 of" not in out


def test_only_the_network_that_lacks_features_makes_them(solved, monkeypatch):
    made = []
    path, folder = solved(metrics=["residual"], distribution=["fid", "fd_vgg16"])
    monkeypatch.setattr(features, "load_extractor", without_inception)
    monkeypatch.setattr(
        "pipelines.sweep._score", lambda folder, scorer, shards: made.append((scorer.only_network, len(shards)))
    )
    assert run("sweep", path) == 0
    assert made == [("vgg16", len(folder.solved_shards()))]


def test_weights_of_all_that_is_scored_together_are_asked_for_first(solved, monkeypatch, capsys):
    """psnr alone was asked for, and lpips_vgg is scored with it."""
    monkeypatch.setattr("eval.weights._places", lambda *_: iter(()))
    monkeypatch.delenv("G2D2_ALLOW_DOWNLOAD", raising=False)
    _, folder = solved(metrics=["psnr", "lpips_vgg"])
    before = {name: folder.store.read_bytes(name) for name in folder.store.list()}
    assert run("score", folder.url, "--metrics", "psnr", "--again") == 2
    assert "metrics: lpips_vgg cannot be measured here" in capsys.readouterr().err
    assert {name: folder.store.read_bytes(name) for name in folder.store.list()} == before


def test_distribution_needs_a_name(solved, capsys):
    _, folder = solved(metrics=["residual"])
    with pytest.raises(SystemExit):
        run("score", folder.url, "--distribution")
    assert "--distribution: expected at least one argument" in capsys.readouterr().err


def test_the_version_of_scoring_stays_with_collected_scores(solved):
    from eval.scores import scoring_version
    from pipelines.commands.compare import read_scores

    _, folder = solved(metrics=["psnr", "residual"])
    scores = read_scores(folder.url)
    assert scoring_version(scores.table) == scoring_version(scores.only(["psnr"]).table) == SCORING_VERSION
