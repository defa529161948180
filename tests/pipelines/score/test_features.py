"""Distances of a sweep's cells: those of all images at once, whatever the shards, and a reason where there are none."""

import re
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch

from eval.distribution import build_distribution
from operators import InputError
from pipelines.plan.planned_items import PlannedItems
from pipelines.plan.work_items import Shard
from pipelines.score import features
from pipelines.score.features import cell_distances, write_features
from pipelines.score.scorings import Scoring
from pipelines.storage.sweep_folder import SweepFolder

CELLS = ("aa", "bb")
NAMES = ["fd_vgg16", "kd_vgg16"]
SCORINGS = [Scoring(id="s", metrics=[], distribution=NAMES)]


class Patches:
    """Features that cost nothing: means of 8x8 patches."""

    name, dim = "patches", 48

    def __call__(self, images):
        return torch.nn.functional.avg_pool2d(images, 8).flatten(1).numpy()


@pytest.fixture
def extractor(monkeypatch):
    monkeypatch.setattr(features, "load_extractor", lambda _: Patches())
    return Patches()


@pytest.fixture
def pictures():
    random = torch.Generator().manual_seed(0)
    truth = torch.rand(10, 3, 32, 32, generator=random) * 2 - 1
    images = {cell: (truth + level * torch.randn(truth.shape, generator=random)).clamp(-1, 1) for cell, level in
              zip(CELLS, (0.1, 0.5), strict=True)}  # fmt: skip
    return truth, images


def store(folder, pictures, sizes, order):
    """Write all rows in shards of given sizes, in a given order, with one item that no plan takes."""
    truth, images = pictures
    rows = [
        {"cell": cell, "item": f"{cell}-{index}", "measurement": f"m{index}", "seed": 0, "index": index}
        for index in range(len(truth))
        for cell in CELLS
    ]
    rows = [rows[place] for place in order]
    items = [row["item"] for row in rows]
    stray = {"cell": "aa", "item": "of another plan", "measurement": "m0", "seed": 1, "index": 0}
    shards, first = [], 0
    for size in sizes:
        part = rows[first : first + size] + ([stray] if not first else [])
        picked = torch.stack([images[row["cell"]][row["index"]] for row in part])
        write_features(folder, "s", f"shard{first}", ["vgg16"], part, truth[[row["index"] for row in part]], picked)
        shards.append(Shard(f"shard{first}", first, size))
        first += size
    planned = PlannedItems(folder, "p")
    planned.table = pa.table({"item": items, "cell": [row["cell"] for row in rows]})
    return SimpleNamespace(id="p", shards=shards, cells=[SimpleNamespace(id=cell) for cell in CELLS], rows=planned)


def test_distances_equal_those_of_all_images_at_once_whatever_the_shards(tmp_path, pictures, extractor):
    truth, images = pictures
    tables = []
    for name, sizes, order in (("a", [20], range(20)), ("b", [7, 13], np.random.default_rng(1).permutation(20))):
        folder = SweepFolder(str(tmp_path / name))
        tables.append(cell_distances(folder, store(folder, pictures, sizes, order), SCORINGS).to_pylist())
    assert [row["value"] for row in tables[0]] == pytest.approx([row["value"] for row in tables[1]], rel=1e-5)
    assert len(tables[0]) == 4
    for row in tables[0]:
        expected = build_distribution(row["metric"]).distance(extractor(truth), extractor(images[row["cell"]]))
        assert row["value"] == pytest.approx(expected.value, rel=1e-5)
        assert (row["count_truth"], row["count_images"], row["expected"]) == (10, 10, 10)
        assert row["note"] == expected.note
    by_cell = {(row["cell"], row["metric"]): row["value"] for row in tables[0]}
    assert by_cell["aa", "fd_vgg16"] < by_cell["bb", "fd_vgg16"]


@pytest.mark.usefixtures("extractor")
def test_cell_without_reconstructions_says_so(tmp_path, pictures):
    folder = SweepFolder(str(tmp_path))
    plan = store(folder, pictures, [20], range(20))
    plan.cells.append(SimpleNamespace(id="cc"))
    rows = [row for row in cell_distances(folder, plan, SCORINGS).to_pylist() if row["cell"] == "cc"]
    assert [row["value"] for row in rows] == [None, None]
    assert {row["unavailable"] for row in rows} == {"no reconstruction of this cell is scored"}


def test_missing_network_is_told_and_stores_nothing(tmp_path, pictures, monkeypatch):
    monkeypatch.setattr(features, "load_extractor", lambda _: features.Unavailable("no weights here"))
    folder = SweepFolder(str(tmp_path))
    plan = store(folder, pictures, [20], range(20))
    assert not list(tmp_path.rglob("features/**/*.parquet"))
    assert {row["unavailable"] for row in cell_distances(folder, plan, SCORINGS).to_pylist()} == {"no weights here"}


@pytest.mark.usefixtures("extractor")
def test_a_distance_over_a_part_of_its_cell_says_so(tmp_path, pictures):
    """One shard's features were never stored: the value is over the others, and does not pass for the cell's."""
    folder = SweepFolder(str(tmp_path))
    plan = store(folder, pictures, [12, 8], range(20))
    folder.store.delete(folder.features_name("s", "vgg16", "shard12"))
    table = cell_distances(folder, plan, SCORINGS)
    assert {(row["count_images"], row["expected"]) for row in table.to_pylist()} == {(6, 10)}
    distance = features.distances_by_cell(table)["aa"]["fd_vgg16"]
    assert not distance.whole
    assert str(distance).endswith("(over 6 of 10 images)")
    notes = features.distance_notes(features.distances_by_cell(table))
    assert notes == [f"{name} of 2 cells: it is over 6 of 10 images" for name in NAMES]
    solved = pa.table({"item": ["one"]})
    for shard in plan.shards:
        folder.store.write_table(folder.solved_name(shard.name), solved)
    assert features.without_features(folder, plan, SCORINGS[0]) == {"vgg16": [plan.shards[1]]}


@pytest.mark.usefixtures("extractor")
def test_a_reconstruction_is_held_against_the_truth_of_its_own_shard(tmp_path, pictures):
    """A picture was corrected under its old name, and a shard of before comes last."""
    folder = SweepFolder(str(tmp_path))
    plan = store(folder, pictures, [20], range(20))
    before = cell_distances(folder, plan, SCORINGS)
    rows = [{"cell": "aa", "item": f"old {index}", "measurement": f"m{index}", "seed": 0} for index in range(10)]
    wrong = torch.ones(10, 3, 32, 32)
    write_features(folder, "s", "old", ["vgg16"], rows, wrong, wrong)
    plan.shards.append(Shard("old", 20, 10))
    assert cell_distances(folder, plan, SCORINGS).equals(before)


def _without(name):
    return lambda table: table.drop_columns([name])


DAMAGES = {
    "it has no column seed": _without("seed"),
    "it has no column features": _without("features"),
    "it lacks the truth of m": lambda table: table.filter(pc.not_equal(table["cell"], "truth")),
    "its features are double": lambda table: table.set_column(4, "features", pa.array([1.0] * len(table))),
    "its rows do not say": lambda table: table.set_column(3, "seed", pa.nulls(len(table), pa.int64())),
}


@pytest.mark.usefixtures("extractor")
@pytest.mark.parametrize("reason", DAMAGES)
def test_damaged_features_are_named(reason, tmp_path, pictures):
    folder = SweepFolder(str(tmp_path))
    plan = store(folder, pictures, [20], range(20))
    name = folder.features_name("s", "vgg16", "shard0")
    folder.store.write_table(name, DAMAGES[reason](folder.store.read_table(name)))
    with pytest.raises(InputError, match=f"{re.escape(folder.store.url(name))}: it is damaged \\({reason}"):
        cell_distances(folder, plan, SCORINGS)
