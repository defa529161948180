"""Scores of solved shards: any method's settings, any signal, rows without truth, metrics of one's own."""

import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import torch

from eval.metrics import RowMetric, Scored, build_metric
from eval.scores import ScoreTable, scoring_version
from operators import InputError, find_signal
from pipelines.manifest import Manifest, SourceRow, write_manifest
from pipelines.plan.planned_items import PlannedItems
from pipelines.plan.work_items import Shard
from pipelines.schemas import ITEM_SCHEMA, SOLVED_SCHEMA
from pipelines.score.collecting import CommittedScores, current_scores, unscored_notes
from pipelines.score.committed import failed_shards
from pipelines.score.lost_rows import lost_rows
from pipelines.score.measurement_scores import (
    ReferenceScorer,
    collected_references,
    read_references,
    score_measurements,
)
from pipelines.score.scoring import ShardScorer
from pipelines.score.scorings import SCORING_VERSION, Scoring
from pipelines.storage.sweep_folder import SweepFolder
from tests.second_signal.series import NAME as SERIES

RMSE = "tests.second_signal.series:Rmse"
BRIGHTNESS = f"{__name__}:Brightness"
METHODS = {
    "wiener": {"noise_to_signal": 0.02, "steps": 2},
    "g2d2": {"process": "star", "eta_kl": 0.001, "steps": 0.5, "final": None, "levels": [3, 2]},
}


class Brightness(RowMetric):
    """Looks at nothing but x."""

    name, direction, summary, needs = "brightness", "higher", "mean of all values", ()

    def rows(self, truth, x, scored):
        return x.double().flatten(1).mean(1)


def picture(seed):
    return (torch.rand(3, 8, 8, generator=torch.Generator().manual_seed(seed)) * 255).round() / 127.5 - 1


def series(length, seed):
    return torch.randn(length, 1, generator=torch.Generator().manual_seed(seed))


class Sweep:
    """A folder with solved shards, one per method, of a manifest's rows; its plan is in memory alone."""

    def __init__(self, root, sources, signal="image"):
        self.manifest = write_manifest(str(root / "m"), sources, task="t").url
        table = Manifest.open(self.manifest).fetch([(0, row) for row in range(len(sources))])
        self.rows = table.select(["id", "digest", "x_shape"]).to_pylist()
        self.folder, self.signal = SweepFolder(str(root / "o")), find_signal(signal)
        self.name = signal
        items = [
            {"item": f"{method}-{place}", "cell": f"cell-{method}", "measurement": row["id"], "manifest_shard": 0,
             "measurement_digest": row["digest"], "manifest_row": place, "method": method}
            for method in METHODS
            for place, row in enumerate(self.rows)
        ]  # fmt: skip
        planned = pa.Table.from_pylist(items)
        rows, count = PlannedItems(self.folder, "p"), len(self.rows)
        rows.table = planned.select([name for name in planned.column_names if name in ITEM_SCHEMA.names])
        self.plan = SimpleNamespace(
            id="p",
            items=len(items),
            shards=[Shard(method, count * place, count) for place, method in enumerate(METHODS)],
            cells=[SimpleNamespace(id=f"cell-{method}", task="t") for method in METHODS],
            rows=rows,
        )
        for method in METHODS:
            solved = [self.solved(item) for item in items if item["method"] == method]
            self.write(method, solved)

    def solved(self, item):
        shape = self.rows[item["manifest_row"]]["x_shape"]
        x = picture(9) if self.name == "image" else torch.zeros(shape)
        facts = {"seed": 0, "task": "t", "arm": item["method"], "prior": "", "signal": self.name}
        facts |= {"settings": json.dumps(METHODS[item["method"]]), "x": self.signal.encode(x)}
        return item | facts | {"device": "Some GPU a-host:12", "batch_rows": 2, "seconds": 0.5, "peak_bytes": 7}

    def write(self, shard, rows):
        table = pa.Table.from_pylist(rows, schema=SOLVED_SCHEMA)
        self.folder.store.write_table(self.folder.solved_name(shard), table)

    def score(self, metrics, shards=METHODS, distribution=()):
        scoring = Scoring.of(metrics, distribution)
        for shard in shards:
            ShardScorer(self.folder.url, self.manifest, scoring)(shard)
        return scoring

    def scores(self, *scorings):
        committed = CommittedScores(self.folder, self.plan, scorings)
        return committed.under_one_schema(lambda: pa.concat_tables(committed.tables()))


@pytest.fixture
def pictures(tmp_path):
    """Three pictures, and a measurement whose truth nobody knows."""
    known = [SourceRow(f"p{seed}", picture(seed), "identity", sigma=0.1) for seed in range(3)]
    return Sweep(tmp_path, [*known, SourceRow("real", None, "identity", y=picture(5), x_shape=(3, 8, 8))])


@pytest.fixture
def walks(tmp_path):
    """Series of several lengths."""
    sources = [
        SourceRow(f"s{seed}", series(length, seed), "tests.second_signal.series:Loudness", sigma=0.1)
        for seed, length in enumerate((6, 4, 6))
    ]
    return Sweep(tmp_path, sources, SERIES)


def test_settings_of_every_method_are_columns_of_one_table(pictures):
    table = pictures.scores(pictures.score(["psnr", "residual"]))
    kinds = {name: str(table.schema.field(name).type) for name in ("noise_to_signal", "steps", "eta_kl", "levels")}
    assert kinds == {"noise_to_signal": "double", "steps": "double", "eta_kl": "double", "levels": "string"}
    scores = ScoreTable(table)
    assert scores.parameters[:4] == ("task", "arm", "method", "prior")
    wiener, g2d2 = (scores.cell_parameters(f"cell-{method}") for method in METHODS)
    assert (wiener["steps"], wiener["eta_kl"], wiener["method"]) == (2, None, "wiener")
    assert (g2d2["steps"], g2d2["process"], g2d2["levels"]) == (0.5, "star", "[3, 2]")
    assert {"noise_to_signal", "eta_kl", "process"} <= set(scores.free)
    assert "steps" not in scores.free
    assert scoring_version(table) == SCORING_VERSION == 3
    assert set(table["device"].to_pylist()) == {"Some GPU"}
    assert scores.metrics == ("psnr", "residual", "seconds", "peak_bytes")


def test_scores_are_those_of_the_stored_pictures(pictures):
    scores = ScoreTable(pictures.scores(pictures.score(["psnr"])))
    truth = torch.stack([picture(seed) for seed in range(3)])
    expected = build_metric("psnr")(Scored(truth, picture(9).expand_as(truth)))
    assert scores.values("cell-wiener", "psnr").values[:3].tolist() == expected.tolist()


def test_a_row_without_truth_has_what_needs_none_and_no_error(pictures):
    table = pictures.scores(pictures.score(["psnr", "residual"]))
    rows = {row["measurement"]: row for row in table.to_pylist() if row["method"] == "wiener"}
    assert math.isnan(rows["t/real"]["psnr"])
    assert rows["t/real"]["error"] is None
    assert all(math.isfinite(row["residual"]) for row in rows.values())
    assert all(math.isfinite(row["psnr"]) for name, row in rows.items() if name != "t/real")


def test_a_failed_or_unreadable_row_costs_no_other(pictures):
    rows = pictures.folder.read_solved("g2d2").to_pylist()
    rows[0] |= {"error": "it diverged", "x": None}
    rows[1]["x"] = b"no picture"
    pictures.write("g2d2", rows)
    scoring = pictures.score(["psnr"])
    lines = [row for row in pictures.scores(scoring).to_pylist() if row["method"] == "g2d2"]
    assert lines[0]["error"] == "it diverged"
    assert lines[1]["error"].startswith("not scored: image g2d2-1: it cannot be read as a picture")
    assert [math.isnan(line["psnr"]) for line in lines] == [True, True, False, True]
    assert failed_shards(pictures.folder, pictures.plan, scoring.id) == {"g2d2"}


def test_series_of_any_length_are_scored_by_a_metric_of_ones_own(walks):
    scoring = walks.score([RMSE, "residual_norm"])
    scores = ScoreTable(walks.scores(scoring))
    expected = [float(series(length, seed).square().mean().sqrt()) for seed, length in enumerate((6, 4, 6))]
    assert scores.values("cell-g2d2", "rmse").values.tolist() == pytest.approx(expected)
    assert np.isfinite(scores.values("cell-g2d2", "residual_norm").values).all()
    assert (scores.info("rmse").direction, scores.columns([RMSE])) == ("lower", ["rmse"])


def test_distances_are_of_images_alone(walks):
    with pytest.raises(InputError, match="fd_vgg16 is about sets of images, and these rows are of"):
        walks.score([RMSE], distribution=["fd_vgg16"])


def test_metrics_of_another_scoring_join_by_item(pictures):
    own, added = pictures.score(["psnr"]), pictures.score([RMSE], shards=["wiener"])
    table = pictures.scores(own, added)
    scores = ScoreTable(table)
    assert scores.metrics == ("psnr", "rmse", "seconds", "peak_bytes")
    assert scores.info("rmse").source == RMSE
    assert np.isfinite(scores.values("cell-wiener", "rmse").values[:3]).all()
    assert scores.values("cell-g2d2", "rmse").finite.sum() == 0
    assert unscored_notes(scores, "o", [own, added]) == [
        f"rmse is scored for 4 of 8 images: `g2d2 score o --metrics {RMSE}` goes on"
    ]
    name = pictures.folder.table_name("p", own.id)
    pictures.folder.store.write_table(name, table)
    for shard in METHODS:  # it is whole, so that no shard is asked
        pictures.folder.store.delete(pictures.folder.scores_name(own.id, shard))
    assert current_scores(pictures.folder, pictures.plan, [own, added], "o").table.schema == table.schema
    pictures.score(["psnr"])
    other = Scoring.of(["ssim"])
    assert "ssim" in current_scores(pictures.folder, pictures.plan, [own, other], "o").metrics


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda table: table.drop_columns(["device"]), "its columns are not those of other shards"),
        (lambda table: table.drop_columns(["psnr"]), "column 'psnr' is missing although the metadata names it"),
        (lambda table: table.replace_schema_metadata(None), "its columns are not those of other shards"),
    ],
)
def test_a_damaged_shard_is_named(pictures, damage, reason):
    scoring = pictures.score(["psnr"])
    name = pictures.folder.scores_name(scoring.id, "g2d2")
    pictures.folder.store.write_table(name, damage(pictures.folder.store.read_table(name)))
    with pytest.raises(InputError, match=f"{re.escape(pictures.folder.store.url(name))}: it is damaged .*{reason}"):
        pictures.scores(scoring)


def test_rows_that_a_shard_lost_are_found_without_reading_the_plan(pictures):
    scoring = pictures.score(["psnr"])
    assert lost_rows(pictures.folder, pictures.plan, scoring.id) == []
    name = pictures.folder.scores_name(scoring.id, "wiener")
    pictures.folder.store.write_table(name, pictures.folder.store.read_table(name).slice(1))
    (lost,) = lost_rows(pictures.folder, pictures.plan, scoring.id)
    assert (lost.held, lost.expected, lost.unsolved) == (3, 4, 0)


def test_a_setting_cannot_take_a_columns_place(pictures):
    rows = pictures.folder.read_solved("wiener").to_pylist()
    pictures.write("wiener", [row | {"settings": '{"seed": 3}'} for row in rows])
    with pytest.raises(InputError, match="settings of wiener: 'seed' is a column of every scored table"):
        pictures.score(["psnr"])


def test_results_of_an_earlier_version_are_refused_in_words(pictures):
    name = pictures.folder.solved_name("wiener")
    old = pictures.folder.store.read_table(name).drop_columns(["x", "signal"])
    pictures.folder.store.write_table(name, old)
    with pytest.raises(InputError, match="it has no column signal"):
        pictures.score(["psnr"])


def measured_chunk(sweep, metrics):
    scoring = Scoring.of(metrics)
    keys = [{"digest": row["digest"], "measurement": row["id"], "task": "t", "manifest_shard": 0, "manifest_row": place}
            for place, row in enumerate(sweep.rows)]  # fmt: skip
    ReferenceScorer.of(spec_of(sweep), scoring)("chunk", keys)
    return scoring


def spec_of(sweep):
    return SimpleNamespace(output=sweep.folder.url, manifest=sweep.manifest)


def test_what_a_measurement_shows_is_scored_where_it_has_a_truth(pictures):
    scoring = measured_chunk(pictures, ["psnr", "residual"])
    table = read_references(pictures.folder, pictures.plan, scoring.id, ["psnr"])
    assert table.column_names == ["digest", "measurement", "task", "psnr"]  # a residual does not judge
    values = dict(zip(table["measurement"].to_pylist(), table["psnr"].to_pylist(), strict=True))
    assert math.isnan(values.pop("t/real"))
    assert all(20 < value < 30 for value in values.values())  # noise of 0.1 on a range of 2
    collected = collected_references(pictures.folder, pictures.plan, [scoring])
    assert collected.drop_columns(["psnr"]).equals(table.drop_columns(["psnr"]))
    np.testing.assert_array_equal(collected["psnr"].to_numpy(), table["psnr"].to_numpy())


def test_truths_are_scored_by_metrics_that_look_at_x_alone(pictures):
    scoring = measured_chunk(pictures, ["psnr", BRIGHTNESS])
    table = collected_references(pictures.folder, pictures.plan, [scoring])
    assert table.column_names == ["digest", "measurement", "task", "psnr", "brightness", "real brightness"]
    rows = {row["measurement"]: row for row in table.to_pylist()}
    for seed in range(3):
        row, truth = rows[f"t/p{seed}"], picture(seed).double().mean()
        assert row["real brightness"] == pytest.approx(float(truth), abs=1e-6)
        assert row["brightness"] != row["real brightness"], "the measurement has noise"
    assert math.isnan(rows["t/real"]["real brightness"])
    assert math.isfinite(rows["t/real"]["brightness"])


def test_chunks_of_a_version_that_scored_no_truths_are_scored_anew(pictures, monkeypatch):
    scoring, written = measured_chunk(pictures, [BRIGHTNESS]), []
    name = pictures.folder.references_name(scoring.id, "chunk")
    whole = pictures.folder.store.read_table(name)
    pictures.folder.store.write_table(name, whole.drop_columns(["real brightness"]))

    def here(chunks, scorer):
        written.extend(chunks["chunk"].to_pylist())
        yield from (scorer(chunk["chunk"], chunk["rows"]) for chunk in chunks.to_pylist())

    monkeypatch.setattr("pipelines.solve.streaming.score_references", here)
    monkeypatch.setattr("pipelines.score.measurement_scores.connect", lambda: None)
    pictures.plan.rows.first_rows = lambda _: pa.table(
        {"cell": [pictures.plan.cells[0].id] * 4, "measurement_digest": [row["digest"] for row in pictures.rows],
         "measurement": [row["id"] for row in pictures.rows], "manifest_shard": [0] * 4, "manifest_row": range(4)}
    )  # fmt: skip
    for _ in range(2):
        score_measurements(spec_of(pictures), pictures.folder, pictures.plan, scoring)
    assert len(written) == 1, "once, and what is whole is left alone"
    found = collected_references(pictures.folder, pictures.plan, [scoring])
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, whole.to_pylist()))


def test_series_show_themselves(walks):
    scoring = measured_chunk(walks, [RMSE])
    table = collected_references(walks.folder, walks.plan, [scoring])
    assert np.isfinite(table["rmse"].to_numpy()).all()
    assert len(table) == 3


def test_a_measurement_that_shows_no_x_has_no_score(tmp_path, monkeypatch):
    sources = [SourceRow("p0", picture(0), "super_resolution", {"factor": 2})]
    sweep = Sweep(tmp_path, sources)
    monkeypatch.setattr("operators.super_resolution.SuperResolution.estimate", lambda self, y: None)
    scoring = measured_chunk(sweep, ["psnr"])
    table = collected_references(sweep.folder, sweep.plan, [scoring])
    assert math.isnan(table["psnr"][0].as_py())
