"""Sweeps on a real Ray with counted GPUs: complete, resumable, and the same whoever solves what."""

import json

import numpy as np
import pyarrow as pa
import pytest

from operators import InputError
from operators.validation import validate
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.schemas import SOLVED_SCHEMA
from pipelines.score.sweep_status import read_status
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.sweep import run_sweep, score_again
from tests.pipelines.sweep_cases import build_manifest, run, specification, write_spec

pytestmark = pytest.mark.usefixtures("local_ray")


def swept(values, **options):
    return run_sweep(validate(SweepSpec, values, where="specification"), **options)


def psnr(result):
    table = result.scores.table
    return dict(zip(table["item"].to_pylist(), table["psnr"].to_pylist(), strict=True))


@pytest.fixture(scope="module")
def base(local_ray, small_manifest, tiny_prior, tmp_path_factory):
    """A quiet sweep that the others are held against."""
    return swept(specification(small_manifest, tiny_prior, tmp_path_factory.mktemp("base") / "o"))


def test_a_sweep_commits_every_item_once(base):
    assert base.counts.complete
    assert (base.counts.expected, base.counts.failed, base.counts.duplicates) == (24, 0, 0)
    assert len(base.scores.cells()) == 4
    assert all(np.isfinite(value) for value in psnr(base).values())
    status = read_status(base.folder)
    assert (status.items, status.solved, status.scored, status.failed) == (24, 24, 24, 0)


def test_the_measurements_themselves_are_scored_once(base, small_manifest, capsys):
    """By the same metric as reconstructions: a blurred picture is its own image."""
    from pipelines.manifest import Manifest, decode_truth, measurement, read_row

    manifest = Manifest.open(small_manifest)
    rows = manifest.fetch([(0, row) for row in range(6)])
    expected = {}
    for index in range(6):
        row = read_row(rows, index)
        error = (measurement(row).clamp(-1, 1) - decode_truth(row)) / 2
        expected[row["digest"]] = -10 * np.log10(float((error.double() ** 2).mean()))
    found = dict(zip(*(base.references[name].to_pylist() for name in ("digest", "psnr")), strict=True))
    assert found == pytest.approx(expected, abs=1e-4)
    assert "residual" not in base.references.column_names
    chunks = base.folder.reference_chunks(base.folder.read_summary()["scoring"])
    assert len(chunks) == 1
    spec = base.folder.read_summary()["specification"]
    assert swept(spec).references == base.references
    assert base.folder.reference_chunks(base.folder.read_summary()["scoring"]) == chunks
    name = base.folder.references_name(base.folder.read_summary()["scoring"], *chunks)
    whole = base.folder.store.read_bytes(name)
    base.folder.store.write_bytes(name, b"damaged")
    damaged = swept(spec)
    assert (damaged.counts, damaged.references) == (base.counts, None)
    assert f"`g2d2 score {base.folder.url} --again` scores them anew" in capsys.readouterr().err
    assert run("score", base.folder.url, "--again") == 0
    assert base.folder.store.read_bytes(name) == whole
    *_, row, _, _ = capsys.readouterr().out.splitlines()
    assert row.split()[:4] == ["gaussian_blur", "the", "measurement", "itself"]
    assert f"{np.mean(list(expected.values())):.2f}" in row


def test_measurements_without_truths_are_looked_at_once(local_ray, tiny_prior, tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    from pipelines.manifest import content_digest

    manifest = build_manifest(tmp_path, pictures=2)
    (shard,) = (tmp_path / "manifest").rglob("*.parquet")
    table = pq.read_table(shard)
    rows = [row | {"truth": None} for row in table.to_pylist()]
    signed = [row | {"digest": content_digest(row)} for row in rows]
    pq.write_table(pa.Table.from_pylist(signed, schema=table.schema), shard)
    spec = specification(manifest, tiny_prior, tmp_path / "o", grid={})
    first = swept(spec)
    assert first.counts.complete
    assert np.isnan(first.references["psnr"].to_numpy()).all()

    def never(*_):
        raise AssertionError("it looked again")

    monkeypatch.setattr("pipelines.solve.streaming.score_references", never)
    assert len(swept(spec).references) == 2


@pytest.mark.parametrize("resources", [{"devices": 2, "batch": 2, "shard": 3}])
def test_devices_batches_and_shards_change_no_value(resources, base, small_manifest, tiny_prior, tmp_path):
    other = swept(specification(small_manifest, tiny_prior, tmp_path / "o", resources=resources))
    assert psnr(other) == psnr(base)


def test_solved_by_a_plain_call_it_is_the_same(base, small_manifest, tiny_prior):
    """The pipeline adds nothing to the solver: one item, solved by hand."""
    from g2d2 import load_prior, solve
    from g2d2.methods.g2d2_settings import G2D2Settings
    from operators.pictures import decode_image, encode_png, to_picture
    from pipelines.manifest import Manifest, build_row_operator, measurement, read_row

    shard = base.plan.shards[0].name
    row = base.folder.read_solved(shard).to_pylist()[0]
    manifest = Manifest.open(small_manifest)
    measured = read_row(manifest.fetch([(row["manifest_shard"], row["manifest_row"])]), 0)
    items = base.folder.store.read_table(base.folder.plan_name(base.plan.id)).to_pylist()
    seed = next(item["solver_seed"] for item in items if item["item"] == row["item"])
    result = solve(
        load_prior(tiny_prior),
        build_row_operator(measured),
        measurement(measured).unsqueeze(0),
        G2D2Settings(**json.loads(row["settings"])),
        prompts=measured["prompt"],
        seeds=[seed],
    )
    assert encode_png(to_picture(result.x[0])) == row["x"]
    assert decode_image(row["x"], "it").shape == (3, 8, 8)


def test_running_again_solves_nothing(base, monkeypatch):
    def never(*_):
        raise AssertionError("it solved again")

    monkeypatch.setattr("pipelines.solve.streaming.solve_and_score", never)
    values = base.folder.read_summary()["specification"]
    assert psnr(swept(values)) == psnr(base)


def test_what_is_missing_is_solved_and_what_is_not_scored_is_scored(small_manifest, tiny_prior, tmp_path):
    values = specification(small_manifest, tiny_prior, tmp_path / "o")
    first = swept(values)
    folder, (lost, unscored, *_) = first.folder, first.plan.shards
    kept = {name: folder.store.read_bytes(name) for name in folder.store.list("solved/")}
    folder.store.delete(folder.solved_name(lost.name))
    for shard in (lost, unscored):
        folder.store.delete(folder.scores_name(folder.read_summary()["scoring"], shard.name))
    again = swept(values)
    assert again.counts.complete
    assert psnr(again) == psnr(first)
    untouched = [name for name in kept if lost.name not in name]
    assert all(folder.store.read_bytes(name) == kept[name] for name in untouched)


@pytest.mark.slow
def test_new_cells_and_seeds_are_solved_and_old_ones_kept(small_manifest, tiny_prior, tmp_path):
    values = specification(small_manifest, tiny_prior, tmp_path / "o")
    first = swept(values)
    values["grid"] = {"cross": {"process": ["star", "markov"], "eta_kl": [0.001, 0.01, 0.1]}}
    wider = swept(values | {"seeds": [0, 1]})
    assert wider.counts.complete
    assert wider.counts.expected == 6 * 6 * 2
    assert psnr(first).items() <= psnr(wider).items()
    narrower = swept(specification(small_manifest, tiny_prior, tmp_path / "o", select={"limit": 2}))
    assert narrower.counts.complete
    assert narrower.counts.expected == 8
    assert psnr(narrower).items() <= psnr(first).items()


@pytest.mark.slow
def test_a_manifest_built_anew_in_other_shards_changes_no_value(tiny_prior, tmp_path):
    manifest = build_manifest(tmp_path)
    values = specification(manifest, tiny_prior, tmp_path / "o")
    first = swept(values)
    first.folder.store.delete(first.folder.solved_name(first.plan.shards[-1].name))
    build_manifest(tmp_path, "--rows-per-shard", "2", "--overwrite")
    again = swept(values | {"metrics": ["psnr"]})  # solves what is missing and scores all anew
    assert again.counts.complete
    assert psnr(again) == psnr(first)


@pytest.mark.slow
def test_failed_rows_are_solved_again_when_asked(small_manifest, tiny_prior, tmp_path):
    """A reconstruction that was not finite, as stored; the same settings give it again, and now it is whole."""
    values = specification(small_manifest, tiny_prior, tmp_path / "o")
    first = swept(values)
    before = psnr(first)  # the table is read where it lies, and is written anew below
    folder, shard = first.folder, first.plan.shards[0].name
    rows = folder.read_solved(shard).to_pylist()
    rows[1] |= {"error": "it failed", "image": None}
    folder.store.write_table(folder.solved_name(shard), pa.Table.from_pylist(rows, schema=SOLVED_SCHEMA))
    score_again(validate(SweepSpec, values, where="specification"), again=True)
    assert swept(values).counts.failed == 1
    again = swept(values, retry_failed=True)
    assert (again.counts.complete, again.counts.failed) == (True, 0)
    assert psnr(again) == before


def test_a_bad_row_fails_alone(small_manifest, tiny_prior, tmp_path, capsys):
    values = specification(small_manifest, tiny_prior, tmp_path / "o")
    values["grid"] = {"cross": {"learning_rate": [1.0, 1e38]}}
    values["metrics"] = ["psnr"]
    path = write_spec(tmp_path / "spec.yaml", values)
    code = run("sweep", path, "--json")
    facts = json.loads(capsys.readouterr().out)
    folder = SweepFolder(values["output"])
    errors = [
        row for shard in folder.solved_shards() for row in folder.read_solved(shard, ["error", "settings"]).to_pylist()
    ]
    failed = [row for row in errors if row["error"] is not None]
    assert facts["complete"]
    assert facts["failed"] == len(failed)
    assert all(json.loads(row["settings"])["learning_rate"] > 1 for row in failed)
    assert code == (1 if failed else 0)
    assert run("status", values["output"]) == code


def test_a_prompt_the_prior_cannot_take_is_an_error_row(tiny_prior, tmp_path, capsys):
    from PIL import Image

    (tmp_path / "p").mkdir()
    rows = ["image_path,caption"]
    for index, caption in enumerate(["a b", "x" * 300]):
        Image.new("RGB", (8, 8), (index * 90, 30, 60)).save(tmp_path / "p" / f"{index}.png")
        rows.append(f"p/{index}.png,{caption}")
    (tmp_path / "list.csv").write_text("\n".join(rows) + "\n")
    blur = ["--operator", "identity", "--sigma", "0.1"]
    assert run("manifest", "build", tmp_path / "list.csv", tmp_path / "m", *blur) == 0
    path = write_spec(tmp_path / "spec.yaml", specification(tmp_path / "m", tiny_prior, tmp_path / "o"))
    capsys.readouterr()
    assert run("sweep", path, "--json") == 1
    facts = json.loads(capsys.readouterr().out)
    assert (facts["complete"], facts["expected"], facts["failed"]) == (True, 8, 4)
    for words in (["status", tmp_path / "o"], ["sweep", path]):
        assert run(*words) == 1
        assert "4 x prompt:" in capsys.readouterr().out


def test_other_metrics_are_scored_without_solving(base):
    spec = validate(SweepSpec, base.folder.read_summary()["specification"] | {"metrics": ["psnr_8bit"]}, where="spec")
    again = score_again(spec)
    values = dict(zip(again.scores.table["item"].to_pylist(), again.scores.table["psnr_8bit"].to_pylist(), strict=True))
    assert values == pytest.approx(psnr(base))


def test_the_commands_print_tables_and_status(base, capsys, tmp_path):
    path = write_spec(tmp_path / "spec.yaml", base.folder.read_summary()["specification"])
    assert run("sweep", path) == 0
    out = capsys.readouterr().out
    assert "star minus markov" in out
    assert "24 of 24 work items committed, 0 twice, 0 failed" in out
    assert run("status", base.folder.url) == 0
    assert "24 of 24 work items scored" in capsys.readouterr().out
    with pytest.raises(InputError, match="there is no sweep here"):
        read_status(SweepFolder(str(tmp_path / "nothing")))


def test_more_devices_than_there_are_is_refused(small_manifest, tiny_prior, tmp_path):
    with pytest.raises(InputError, match=r"resources.devices: 9 were asked for, and the cluster has 2 GPUs"):
        swept(specification(small_manifest, tiny_prior, tmp_path / "o", resources={"devices": 9}))


def test_a_solver_of_ones_own(small_manifest, tiny_prior, tmp_path):
    values = specification(small_manifest, tiny_prior, tmp_path / "o")
    result = swept(values | {"solver": values["solver"] | {"method": "bench.stand_in:Instant"}})
    assert result.counts.complete
    with pytest.raises(InputError, match=r"'bench\.stand_in:nothing' cannot be loaded"):
        swept(values | {"solver": values["solver"] | {"method": "bench.stand_in:nothing"}})


@pytest.mark.slow
def test_traces_and_floats_are_kept_when_asked(small_manifest, tiny_prior, tmp_path):
    import io

    keep = {"floats": True, "traces": True, "snapshots_at": [2]}
    result = swept(specification(small_manifest, tiny_prior, tmp_path / "o", keep=keep, select={"limit": 1}))
    row = result.folder.read_solved(result.plan.shards[0].name).to_pylist()[0]
    assert len(row["floats"]) == 3 * 8 * 8
    trace = np.load(io.BytesIO(row["trace"]), allow_pickle=False)
    assert trace["total"].shape == (4 * 3,)
    assert trace["snapshot_2"].shape == (3, 8, 8)
