"""Building: what is measured, what is left out, and when a build is the same."""

import json

import numpy as np
import pytest
import torch
from PIL import Image

from operators import InputError, build_operator, measure
from pipelines.console.options import item_seed
from pipelines.manifest import Manifest, NothingBuiltError, decode_truth, measurement, read_row, writing


def pixels(number, side=8):
    return np.random.default_rng(number).integers(0, 256, (side, side, 3), dtype=np.uint8)


def rows_of(url):
    manifest = Manifest.open(str(url))
    places = [(row["shard"], row["row"]) for batch in manifest.index(["id"]) for row in batch.to_pylist()]
    table = manifest.fetch(places)
    return [read_row(table, number) for number in range(table.num_rows)]


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "pictures"
    (place / "inner").mkdir(parents=True)
    for number, name in enumerate(["b.png", "a.png", "inner/c d.png"]):
        Image.fromarray(pixels(number)).save(place / name)
    return place


def test_a_row_holds_what_was_measured(make_table, build):
    built = build(make_table(3, prompt=["x", None, "z"]), operator="gaussian_blur", params={"kernel_size": 5, "std": 1})
    rows = rows_of(built.url)
    assert [row["id"] for row in rows] == [f"gaussian_blur/img-{number}" for number in range(3)]
    assert [row["prompt"] for row in rows] == ["x", "", "z"]
    row = rows[1]
    truth = torch.from_numpy(pixels(1).astype(np.float32)).permute(2, 0, 1) / 127.5 - 1
    assert torch.equal(decode_truth(row), truth)
    assert row["seed"] == item_seed(0, row["id"])
    assert json.loads(row["operator_params"]) == {"kernel_size": 5, "std": 1.0}
    operator = build_operator("gaussian_blur", {"kernel_size": 5, "std": 1}, x_shape=(3, 8, 8))
    expected = measure(operator, truth[None], sigma=0.05, seeds=[row["seed"]])[0]
    torch.testing.assert_close(measurement(row), expected, rtol=0, atol=1e-6)
    assert (row["y_shape"], row["x_shape"], row["sigma"]) == ([3, 8, 8], [3, 8, 8], 0.05)


def test_tasks_measure_every_source_and_share_its_name(make_table, build):
    images = make_table(images=[_png(pixels(number, 32)) for number in range(5)])
    built = build(images, tasks=["sr4-32", "gaussian-deblur-32"], limit=3)
    rows = rows_of(built.url)
    assert [row["task"] for row in rows] == ["sr4-32", "gaussian-deblur-32"] * 3
    assert [row["source"] for row in rows] == ["img-0", "img-0", "img-1", "img-1", "img-2", "img-2"]
    assert rows[0]["y_shape"] == [3, 8, 8]
    assert rows[0]["truth"] == rows[1]["truth"]
    assert (built.summary.tasks, built.summary.rows) == (["sr4-32", "gaussian-deblur-32"], 6)


def test_the_digest_knows_content_and_not_shards_or_company(make_table, build, tmp_path):
    source = make_table(150)
    whole = build(source, tmp_path / "a")
    split = build(source, tmp_path / "b", rows_per_shard=70)
    assert [shard.rows for shard in split.summary.shards] == [70, 70, 10]
    assert whole.summary.digest == split.summary.digest
    few = build(source, tmp_path / "c", limit=7)
    assert [row["digest"] for row in rows_of(few.url)] == [row["digest"] for row in rows_of(whole.url)][:7]
    for number, other in enumerate([{"seed": 1}, {"sigma": 0.1}, {"prompt": "a dog"}, {"operator": "motion_blur"}]):
        assert build(source, tmp_path / f"d{number}", **other).summary.digest != whole.summary.digest


def test_other_labels_or_prompts_of_a_source_are_seen(make_table, g2d2, tmp_path):
    words = ["build", tmp_path / "source.parquet", tmp_path / "m", "--operator", "identity"]
    make_table(2, label=["cat", None], caption=["a cat", "a dog"])
    code, said, _ = g2d2(*words)
    assert code == 0
    digest = said.split()[-1]
    assert "is there already, the same" in g2d2(*words)[1]
    make_table(2, label=["cat", "dog"], caption=["a cat", "a dog"])
    code, said, errors = g2d2(*words)
    assert (code, said) == (2, "")
    assert "with other labels (identity/img-1 has None and would have 'dog'); --overwrite replaces them" in errors
    assert rows_of(tmp_path / "m")[1]["label"] is None
    code, said, _ = g2d2(*words, "--overwrite")
    assert (code, said.split()[-1]) == (0, digest)  # what was solved of these measurements stays valid
    assert rows_of(tmp_path / "m")[1]["label"] == "dog"
    make_table(2, label=["cat", "dog"], caption=["a cat", "a hound"])
    code, said, errors = g2d2(*words)
    assert (code, said) == (2, "")
    assert "holds another manifest" in errors


def test_large_measurements_end_groups_and_shards_early(make_table, build, monkeypatch):
    monkeypatch.setattr(writing, "GROUP_BYTES", 4000)
    monkeypatch.setattr(writing, "SHARD_BYTES", 9000)
    built = build(make_table(20))
    assert len(built.summary.shards) > 2
    assert sum(shard.rows for shard in built.summary.shards) == 20
    assert len({row["id"] for row in rows_of(built.url)}) == 20


def test_bad_pictures_are_rejected_one_by_one(folder, g2d2, tmp_path):
    (folder / "text.png").write_text("not a picture")
    (folder / "cut.png").write_bytes((folder / "a.png").read_bytes()[:60])
    Image.new("RGB", (9, 8)).save(folder / "wide.png")
    Image.new("L", (8, 8)).save(folder / "grey.png")
    Image.new("RGBA", (8, 8)).save(folder / "alpha.png")
    Image.new("P", (8, 8)).save(folder / "palette.png")
    Image.new("CMYK", (8, 8)).save(folder / "ink.tif")
    Image.fromarray(np.zeros((8, 8), np.uint16)).save(folder / "deep.png")
    Image.new("1", (9000, 9000)).save(folder / "huge.png")
    Image.fromarray(pixels(9)).save(folder / "a.bmp")
    (folder / ("n" * 200 + ".png")).write_bytes((folder / "a.png").read_bytes())
    out = tmp_path / "m"
    code, said, errors = g2d2("build", folder, out, "--operator", "identity", "--image-size", 8)
    assert code == 1
    assert "holds 7 measurements of 14 pictures" in said
    reasons = {one["source"]: one["reason"] for one in json.loads((out / "manifest.json").read_text())["rejected"]}
    assert len(reasons) == 7
    expected = {
        "text": "no format known",
        "cut": "cannot be read as a picture",
        "wide": "it is 9x8 and must be 8x8",
        "alpha": "parts of it are transparent; --background white or black",
        "huge": "9000x9000 is above 64000000 pixels",
        "a": "'a' belongs to an earlier picture",
        "n" * 200: "characters and may have 200",
    }
    for name, reason in expected.items():
        assert reason in reasons[name]
        assert reasons[name] in errors
    code, said, _ = g2d2("build", folder, out, "--operator", "identity", "--image-size", 8, "--overwrite", "--resize",
                         "--background", "black")  # fmt: skip
    assert code == 1
    assert "holds 9 measurements" in said


def test_names_outside_the_alphabet_become_ids(folder, build):
    assert [row["source"] for row in rows_of(build(folder).url)] == ["a", "b", "inner/c=20d"]


def test_pictures_of_many_sizes_keep_their_own(tmp_path, build):
    for number, side in enumerate([8, 8, 12, 8, 12]):
        Image.fromarray(pixels(number, side)).save(tmp_path / f"{number}.png")
    rows = rows_of(build(tmp_path, tmp_path.parent / f"{tmp_path.name}-out").url)
    assert [row["x_shape"][1] for row in rows] == [8, 8, 12, 8, 12]
    assert [row["source"] for row in rows] == list("01234")


def test_an_operator_that_does_not_fit_rejects_the_picture(tmp_path, build):
    (tmp_path / "p").mkdir()
    for number, side in enumerate([8, 7]):
        Image.fromarray(pixels(number, side)).save(tmp_path / "p" / f"{number}.png")
    built = build(tmp_path / "p", operator="super_resolution")
    assert built.summary.rows == 1
    assert [one.source for one in built.rejected] == ["1"]


def test_nothing_usable_builds_nothing(tmp_path, build, g2d2):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "x.png").write_text("no")
    with pytest.raises(NothingBuiltError, match=r"no picture of 1 could be used; first: image x.png"):
        build(tmp_path / "p")
    assert not (tmp_path / "manifest").exists()
    code, _, errors = g2d2("build", tmp_path / "p", tmp_path / "m", "--operator", "identity")
    assert code == 2
    assert "rejected 1 picture:" in errors


def test_the_same_build_is_recognised_and_another_refused(make_table, build, tmp_path):
    source = make_table()
    first = build(source)
    before = sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "manifest").iterdir())
    again = build(source, rows_per_shard=2)
    assert again.was_there
    assert again.summary == first.summary
    assert sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "manifest").iterdir()) == before
    with pytest.raises(InputError, match=r"holds another manifest .* --overwrite replaces it"):
        build(source, seed=1)
    assert Manifest.open(str(tmp_path / "manifest")).digest == first.summary.digest
    replaced = build(source, seed=1, overwrite=True)
    assert not replaced.was_there
    assert Manifest.open(str(tmp_path / "manifest")).digest == replaced.summary.digest != first.summary.digest


def test_overwriting_with_fewer_shards_leaves_none_behind(make_table, build, tmp_path):
    source = make_table(9)
    build(source, rows_per_shard=2)
    build(source, overwrite=True, limit=4, rows_per_shard=2)
    assert sorted(path.name for path in (tmp_path / "manifest").iterdir()) == [
        "manifest.json", "part-00000.parquet", "part-00001.parquet",
    ]  # fmt: skip


def test_an_interrupted_build_is_incomplete_and_can_be_run_again(make_table, build, tmp_path, monkeypatch):
    source = make_table(100)
    real = writing.ShardWriter._end_shard

    def interrupted(self):
        real(self)
        if len(self.shards) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(writing.ShardWriter, "_end_shard", interrupted)
        with pytest.raises(KeyboardInterrupt):
            build(source, rows_per_shard=20)
    assert (tmp_path / "manifest" / "part-00001.parquet").exists()
    with pytest.raises(InputError, match=r"incomplete, having no manifest.json"):
        Manifest.open(str(tmp_path / "manifest"))
    built = build(source, rows_per_shard=100)
    assert sorted(path.name for path in (tmp_path / "manifest").iterdir()) == ["manifest.json", "part-00000.parquet"]
    assert len(rows_of(built.url)) == built.summary.rows == 100


@pytest.mark.parametrize("name", ["notes.txt", "part-00000.parquet"])
def test_other_peoples_files_are_never_replaced(make_table, build, tmp_path, name):
    (tmp_path / "manifest").mkdir()
    (tmp_path / "manifest" / name).write_text("mine")
    with pytest.raises(InputError, match=f"holds other files, {name} for one"):
        build(make_table(), overwrite=True)
    assert (tmp_path / "manifest" / name).read_text() == "mine"


def test_a_manifest_does_not_go_into_its_source(folder, build):
    with pytest.raises(InputError, match="lies in the source"):
        build(folder, folder / "manifest")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"operator": "identity", "tasks": ["sr4-32"]}, "either tasks or an operator"),
        ({"tasks": ["sr8"]}, "task: 'sr8' is unknown; choose one of"),
        ({"tasks": ["sr4-32", "sr4-32"]}, "name each once"),
        ({"tasks": ["sr4-32"], "sigma": 0.1}, "a task has its own"),
        ({"operator": "blur"}, "operator is 'blur'"),
        ({"sigma": -1}, "sigma is -1"),
        ({"limit": 0}, "limit is 0"),
        ({"prompt": "a", "prompt_column": "b"}, "only one of prompt, prompt_column"),
        ({"resize": True}, "resize needs image_size"),
        ({"operator": "gaussian_blur", "params": {"std": -1}}, "std is -1"),
        ({"sigma": 1e39}, "must be finite and at least 0, and at most"),
    ],
)
def test_bad_settings_are_one_sentence(make_table, build, tmp_path, settings, message):
    with pytest.raises(InputError, match=message) as caught:
        build(make_table(), **settings)
    assert len(str(caught.value).splitlines()) == 1
    assert not (tmp_path / "manifest").exists()


def _png(array):
    import io

    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, "PNG")
    return buffer.getvalue()
