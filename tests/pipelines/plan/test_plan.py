"""Plans: every work item once, ids that follow what decides a result, earlier work found again."""

import json

import pyarrow as pa
import pytest

from operators import InputError
from operators.validation import validate
from pipelines.plan.cells import to_table
from pipelines.plan.item_ids import recipe_id
from pipelines.plan.planned_items import PlannedItems
from pipelines.plan.planning import make_plan
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.schemas import SOLVED_SCHEMA
from pipelines.storage.sweep_folder import SweepFolder
from tests.pipelines.sweep_cases import build_manifest, run, specification, write_spec


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    return build_manifest(tmp_path_factory.mktemp("plan"))


def spec_of(values):
    return validate(SweepSpec, values, where="specification")


def planned(values):
    spec = spec_of(values)
    folder = SweepFolder(spec.output)
    plan = make_plan(spec, folder)
    return plan, folder.store.read_table(folder.plan_name(plan.id))


def test_every_measurement_meets_every_cell_and_seed_once(manifest, tiny_prior, tmp_path):
    plan, items = planned(specification(manifest, tiny_prior, tmp_path / "o", seeds=[0, 1]))
    keys = set(zip(*(items[name].to_pylist() for name in ("measurement", "cell", "seed")), strict=True))
    assert plan.items == len(items) == len(keys) == len(set(items["item"].to_pylist())) == 6 * 4 * 2
    assert sum(shard.count for shard in plan.shards) == plan.items
    assert max(shard.count for shard in plan.shards) <= 5


def test_a_shard_holds_only_what_can_share_a_batch(manifest, tiny_prior, tmp_path):
    values = specification(manifest, tiny_prior, tmp_path / "o")
    values["grid"] = {"cross": {"process": ["star", "markov"], "steps": [2, 3]}}
    plan, items = planned(values)
    steps = {cell.id: cell.settings["steps"] for cell in plan.cells}
    for shard in plan.shards:
        rows = items.slice(shard.first, shard.count)
        assert set(rows["shard"].to_pylist()) == {shard.name}
        assert len({steps[cell] for cell in rows["cell"].to_pylist()}) == 1


def test_ids_stay_as_they_were_where_networks_are_plain():
    assert recipe_id("g2d2", 1, "p" * 32, "float32", {"steps": 4, "gamma": 0.1}) == "05b33ce3fec4ba19c5dbaa6f3e842375"


@pytest.mark.parametrize(
    "change", ["settings", "prior", "dtype", "compile", "graphs", "channels_last", "manifest", "method", "version"]
)
def test_what_decides_a_result_changes_every_id(change, manifest, tiny_prior, tmp_path, monkeypatch):
    values = specification(manifest, tiny_prior, tmp_path / "o")
    before = set(planned(values)[1]["item"].to_pylist())
    if change == "settings":
        values["solver"] = {"settings": values["solver"]["settings"] | {"iterations": 4}}
    elif change == "graphs":
        before |= set(planned(values | {"resources": values["resources"] | {"compile": True}})[1]["item"].to_pylist())
        values["resources"] = values["resources"] | {"compile": "graphs"}
    elif change in ("compile", "channels_last"):
        values["resources"] = values["resources"] | {change: True}
    elif change == "prior":
        from g2d2.priors.vq_diffusion.random_weights import TINY, random_components

        random_components(TINY, seed=9).save(tmp_path / "prior")
        values["prior"] = str(tmp_path / "prior")
    elif change == "dtype":
        values["resources"] = {"dtype": "float64"}
    elif change == "manifest":
        values["manifest"] = build_manifest(tmp_path / "other", seed=1)
    elif change == "method":
        values["solver"] = values["solver"] | {"method": "g2d2.methods.g2d2:G2D2"}
    else:
        monkeypatch.setattr("g2d2.methods.g2d2.G2D2.version", 999)
    assert not before & set(planned(values)[1]["item"].to_pylist())


def test_placement_and_metrics_change_no_id(manifest, tiny_prior, tmp_path):
    values = specification(manifest, tiny_prior, tmp_path / "o")
    plan, _ = planned(values)
    other, _ = planned(values | {"metrics": ["ssim"], "resources": {"shard": 3, "batch": 2}})
    assert other.id == plan.id
    assert other.shards == plan.shards


def test_a_larger_grid_keeps_what_is_solved_and_plans_the_rest(manifest, tiny_prior, tmp_path):
    values = specification(manifest, tiny_prior, tmp_path / "o")
    plan, items = planned(values)
    folder = SweepFolder(values["output"])
    for shard in plan.shards:
        commit(folder, shard.name, items.slice(shard.first, shard.count))
    values["grid"] = {"cross": {"process": ["star", "markov"], "eta_kl": [0.001, 0.01, 0.1]}}
    wider, wide_items = planned(values)
    solved = folder.solved_shards()
    left = [shard for shard in wider.shards if shard.name not in solved]
    assert wider.items == 36
    assert sum(shard.count for shard in left) == 12
    assert {shard.name for shard in wider.shards} >= {shard.name for shard in plan.shards}
    assert len(set(wide_items["item"].to_pylist())) == 36


def test_a_failed_row_is_planned_again_in_a_new_plan(manifest, tiny_prior, tmp_path):
    values = specification(manifest, tiny_prior, tmp_path / "o")
    plan, items = planned(values)
    folder = SweepFolder(values["output"])
    commit(folder, plan.shards[0].name, items.slice(0, plan.shards[0].count), error="broken")
    again, _ = planned(values | {"seeds": [0, 1]})
    assert plan.shards[0].name not in {shard.name for shard in again.shards}


def commit(folder, shard, items, error=None, failed=None):
    """A solved shard as a device would leave it; of its items, the failed ones carry the error."""
    names = items["item"].to_pylist()
    rows = [{"item": item, "error": error if failed is None or item in failed else None} for item in names]
    table = pa.Table.from_pylist([dict.fromkeys(SOLVED_SCHEMA.names) | row for row in rows], schema=SOLVED_SCHEMA)
    folder.store.write_table(folder.solved_name(shard), table)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"select": {"tasks": ["sr4-32"]}}, "select.tasks: sr4-32 is not in the manifest, which has gaussian_blur"),
        ({"solver": {"preset": "tuned"}}, "'tuned' needs settings of method 'g2d2' that ship with the prior"),
        ({"solver": {"preset": "fast"}}, "'fast' needs settings of method 'g2d2' that ship with the prior"),
        ({"grid": {"cross": {"gamma": [0.3, 0.30]}}}, "names a value twice"),
        ({"grid": {"points": [{"gamma": 0.3}, {"gamma": 0.3, "steps": 4}]}}, "are the same settings"),
        ({"grid": {"cross": {"gamma": [7]}}}, "gamma is 7"),
        ({"grid": {"cross": {"process": ["star"]}, "exclude": [{"process": "star"}]}}, "every combination is excluded"),
        ({"manifest": "/nowhere/at/all"}, "there is no such manifest"),
        ({"prior": "/nowhere/at/all"}, "prior: '/nowhere/at/all' is neither a folder"),
    ],
)
def test_what_cannot_be_planned_is_told_before_anything_runs(changes, said, manifest, tiny_prior, tmp_path):
    with pytest.raises(InputError) as caught:
        planned(specification(manifest, tiny_prior, tmp_path / "o") | changes)
    assert said in str(caught.value)
    assert not (tmp_path / "o").exists()


def test_selection_takes_the_first_of_each_task(manifest, tiny_prior, tmp_path):
    plan, items = planned(specification(manifest, tiny_prior, tmp_path / "o", select={"limit": 2}))
    assert plan.measurements == 2
    assert set(items["measurement"].to_pylist()) == {"gaussian_blur/p0", "gaussian_blur/p1"}


def test_the_command_counts_and_prices_a_plan(manifest, tiny_prior, tmp_path, capsys):
    path = write_spec(tmp_path / "spec.yaml", specification(manifest, tiny_prior, tmp_path / "o"))
    assert run("plan", path, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["items"], facts["done"], facts["cells"]) == (24, 0, 4)
    assert (facts["arms"], facts["varied"]) == (["star", "markov"], ["eta_kl"])
    assert facts["seconds_per_item"] > 0
    assert facts["peak_bytes"] > 0
    assert run("plan", path, "--no-calibration") == 0
    out = capsys.readouterr().out
    assert out.startswith("4 cells (arm, eta_kl), 6 measurements of 2 arms: star, markov\n")
    assert "24 work items in 5 shards, 0 of them done" in out


def test_the_command_prices_devices_by_a_measured_file(manifest, tiny_prior, tmp_path, capsys):
    """24 items of 4 passes of the prior, at guidance 1, and 12 calls of the decoder, four at a time."""
    path = write_spec(tmp_path / "spec.yaml", specification(manifest, tiny_prior, tmp_path / "o"))
    row = {"way": "eager", "batch": 4, "pass_seconds": 300.0, "decoder_seconds": 200.0, "error": None}
    rows = [row | {"seconds_per_image": 900.0, "low": 450.0, "high": 1800.0}]
    (tmp_path / "gpu.json").write_text(json.dumps({"bench": "gpu", "shape": "ithq", "device": "A100", "rows": rows}))
    asked = ["plan", path, "--price", "2.1/h", "--devices", 8, "--bench", tmp_path / "gpu.json"]
    assert run(*asked, "--json") == 0
    told = capsys.readouterr()
    cost = json.loads(told.out)["cluster"]
    hours = 24 * (4 * 300 + 12 * 200) / 4 / 3600
    assert cost["device_hours"] == pytest.approx([hours / 2, hours, 2 * hours])
    assert cost["hours"] == pytest.approx([hours / 10, hours / 5, 2 * hours / 5])  # in five shards
    assert cost["busy"] == 5
    assert cost["money"] == pytest.approx([2.1 * hours / 2, 2.1 * hours, 2.1 * hours * 2])
    assert run(*asked) == 0
    told = capsys.readouterr()
    assert (
        "on 8 devices: about 1 h 12 min (36 min 0 s to 2 h 24 min), money 12.60 (6.30 to 25.20); 5 of 8 devices have "
        "work\n"
    ) in told.out
    assert f"by {tmp_path / 'gpu.json'}: ithq on A100, eager in batches of 4" in told.out
    assert "warning: the figures are of images 256x256" in told.err
    plan, items = planned(specification(manifest, tiny_prior, tmp_path / "o"))
    first = plan.shards[0]
    commit(SweepFolder(str(tmp_path / "o")), first.name, items.slice(first.first, first.count))
    assert run("plan", path, "--devices", 4, "--bench", tmp_path / "gpu.json", "--json") == 0
    again = json.loads(capsys.readouterr().out)["cluster"]
    assert again["hours"] == pytest.approx([one / 4 for one in again["device_hours"]])  # of the four that are left


def test_the_command_prices_devices_by_the_papers_figures(manifest, tiny_prior, tmp_path, capsys):
    path = write_spec(tmp_path / "spec.yaml", specification(manifest, tiny_prior, tmp_path / "o"))
    assert run("plan", path, "--price", "2.1/h", "--devices", 8, "--bench", "paper", "--json") == 0
    cost = json.loads(capsys.readouterr().out)["cluster"]
    assert cost["devices"] == 8
    assert cost["device_hours"][-1] == pytest.approx(24 * 12 * 194 / 3000 / 3600)
    assert cost["money"] == pytest.approx([2.1 * one for one in cost["device_hours"]])
    assert "the paper's 194 s an image" in cost["source"]
    assert run("plan", path, "--price", "2.1/day", "--bench", "paper") == 2
    assert "write it as 2.1/h" in capsys.readouterr().err


def test_shards_are_read_back_as_planned(manifest, tiny_prior, tmp_path):
    plan, items = planned(specification(manifest, tiny_prior, tmp_path / "o"))
    rows = PlannedItems(SweepFolder(str(tmp_path / "o")), plan.id)
    shards, count = rows.shards, len(rows)
    assert (shards, count) == (plan.shards, len(items))


def test_failed_rows_are_planned_again_and_their_neighbours_stay(manifest, tiny_prior, tmp_path):
    spec = spec_of(specification(manifest, tiny_prior, tmp_path / "o"))
    folder = SweepFolder(spec.output)
    plan, items = planned(specification(manifest, tiny_prior, tmp_path / "o"))
    first, second, *rest = plan.shards
    # one row of the first shard, and all of the second
    failed = {items["item"][first.first].as_py(), *items.slice(second.first, second.count)["item"].to_pylist()}
    for shard in plan.shards:
        commit(folder, shard.name, items.slice(shard.first, shard.count), "broken", failed)
    assert make_plan(spec, folder).id == plan.id  # unasked, nothing is tried again
    again = make_plan(spec, folder, retry_failed=True)
    fresh = [shard for shard in again.shards if shard.name not in folder.solved_shards()]
    table = folder.store.read_table(folder.plan_name(again.id))
    assert sorted(table["item"].to_pylist()) == sorted(items["item"].to_pylist())
    assert {item for shard in fresh for item in table.slice(shard.first, shard.count)["item"].to_pylist()} == failed
    assert {shard.name for shard in rest} <= {shard.name for shard in again.shards}
    for shard in fresh:
        commit(folder, shard.name, table.slice(shard.first, shard.count))
    after = make_plan(spec, folder)
    assert after == again
    assert after.id != plan.id
    assert make_plan(spec, folder, retry_failed=True).id == again.id  # nothing failed any more


def test_what_another_plan_has_solved_since_is_not_solved_again(manifest, tiny_prior, tmp_path):
    small = specification(manifest, tiny_prior, tmp_path / "o", select={"limit": 2})
    wide = specification(manifest, tiny_prior, tmp_path / "o")
    before, _ = planned(wide)
    plan, items = planned(small)
    folder = SweepFolder(small["output"])
    for shard in plan.shards:
        commit(folder, shard.name, items.slice(shard.first, shard.count))
    after, table = planned(wide)
    held = {shard.name for shard in after.shards} & folder.solved_shards()
    assert sum(shard.count for shard in after.shards if shard.name in held) == plan.items == 8
    assert after.items == before.items == len(set(table["item"].to_pylist())) == 24
    assert folder.store.exists(folder.plan_name(before.id))  # who works by it can go on


def test_a_foreign_shard_that_holds_nothing_of_a_plan_changes_nothing(manifest, tiny_prior, tmp_path):
    """Neither at the first resumption nor at any other, while the plan is unfinished."""
    values = specification(manifest, tiny_prior, tmp_path / "o")
    _, foreign = planned(values | {"seeds": [7]})
    folder = SweepFolder(values["output"])
    commit(folder, "0" * 32, foreign)
    plan, items = planned(values)
    for _ in range(3):
        assert planned(values)[0] == plan
        commit(folder, plan.shards[0].name, items.slice(0, plan.shards[0].count))
    assert folder.store.list(f"plan/{plan.id}") == [folder.cells_name(plan.id), folder.plan_name(plan.id)]


def test_what_others_solved_of_a_plan_is_taken_over_once(manifest, tiny_prior, tmp_path):
    values = specification(manifest, tiny_prior, tmp_path / "o")
    plan, items = planned(values)
    folder = SweepFolder(values["output"])
    commit(folder, "0" * 32, items.slice(3, 4))
    after, _ = planned(values)
    assert after.id == f"{plan.id}.2"
    assert "0" * 32 in {shard.name for shard in after.shards}
    assert [planned(values)[0] for _ in range(2)] == [after, after]


@pytest.mark.parametrize("lost", ["cells", "plan", "both"])
def test_lost_files_of_a_plan_are_written_again(lost, manifest, tiny_prior, tmp_path):
    values = specification(manifest, tiny_prior, tmp_path / "o")
    plan, items = planned(values)
    folder = SweepFolder(values["output"])
    for shard in plan.shards[:2]:
        commit(folder, shard.name, items.slice(shard.first, shard.count))
    names = {"cells": [folder.cells_name(plan.id)], "plan": [folder.plan_name(plan.id)]}
    names["both"] = names["cells"] + names["plan"]
    for name in names[lost]:
        folder.store.delete(name)
    again, table = planned(values)
    assert (again.id, again.cells) == (plan.id, plan.cells)
    assert {(shard.name, shard.count) for shard in again.shards} == {(shard.name, shard.count) for shard in plan.shards}
    assert sorted(table["item"].to_pylist()) == sorted(items["item"].to_pylist())
    assert folder.cells(plan.id) == plan.cells


def test_damaged_cells_of_a_plan_are_written_again(manifest, tiny_prior, tmp_path):
    values = specification(manifest, tiny_prior, tmp_path / "o")
    plan, _ = planned(values)
    folder = SweepFolder(values["output"])
    for content in (b"{}", b""):
        folder.store.write_bytes(folder.cells_name(plan.id), content)
        planned(values)
        assert folder.cells(plan.id) == plan.cells
    folder.store.write_table(folder.cells_name(plan.id), to_table(plan.cells[1:]))
    planned(values)
    assert folder.cells(plan.id) == plan.cells


def test_a_plan_that_lost_rows_is_refused(manifest, tiny_prior, tmp_path):
    """Its other rows would be called the whole sweep."""
    values = specification(manifest, tiny_prior, tmp_path / "o")
    plan, items = planned(values)
    folder = SweepFolder(values["output"])
    folder.store.write_table(folder.plan_name(plan.id), items.slice(1))
    with pytest.raises(InputError, match="has 23 work items and must have 24"):
        planned(values)
    folder.store.delete(folder.plan_name(plan.id))
    assert planned(values)[0] == plan
