"""`g2d2 eval` as a person would use it: files, folders and Parquet, with everything that is not scored reported."""

import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from skimage.metrics import peak_signal_noise_ratio

from eval.scores import ScoreTable
from eval.weights import find_weights
from operators import InputError
from pipelines import cli

NAMES = ("a", "b", "c")


def run(*words):
    return cli.main(["eval", *(str(word) for word in words)])


def picture(seed, side=16):
    return np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)


def changed(pixels, by=10):
    return np.where(pixels < 128, pixels + by, pixels - by).astype(np.uint8)


def png(pixels):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG")
    return buffer.getvalue()


@pytest.fixture
def folders(tmp_path):
    truth, recon = tmp_path / "truth", tmp_path / "recon"
    truth.mkdir()
    recon.mkdir()
    for seed, name in enumerate(NAMES):
        (truth / f"{name}.png").write_bytes(png(picture(seed)))
        (recon / f"{name}.png").write_bytes(png(changed(picture(seed), 5 * (seed + 1))))
    return truth, recon


def expected():
    return [peak_signal_noise_ratio(picture(s), changed(picture(s), 5 * (s + 1)), data_range=255) for s in range(3)]


def test_two_folders(folders, capsys, tmp_path):
    out = tmp_path / "new" / "scores.parquet"
    assert run(*folders, "--metrics", "psnr", "ssim", "--batch", 2, "--json", "--out", out) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in told["rows"]] == list(NAMES)
    assert [row["psnr"] for row in told["rows"]] == pytest.approx(expected(), abs=1e-4)
    psnr = told["summary"][0]
    assert psnr["mean"] == pytest.approx(np.mean(expected()), abs=1e-4)
    assert psnr["low"] < psnr["mean"] < psnr["high"]
    assert (psnr["count"], psnr["infinite"], psnr["failed"]) == (3, 0, 0)
    table = ScoreTable.read(out)
    assert (table.cells(), table.metrics) == (["recon"], ("psnr", "ssim"))
    assert table.values("recon", "psnr").values == pytest.approx(expected(), abs=1e-4)


def test_the_batch_size_does_not_matter(folders, capsys):
    told = []
    for batch in (1, 3):
        assert run(*folders, "--metrics", "psnr", "ssim", "psnr_8bit", "--batch", batch, "--json") == 0
        rows = json.loads(capsys.readouterr().out)["rows"]
        told.append([row[name] for row in rows for name in ("psnr", "ssim", "psnr_8bit")])
    assert told[0] == pytest.approx(told[1], rel=1e-9)


def test_two_pictures_of_any_name_as_a_table(folders, capsys):
    truth, recon = folders
    (recon / "a.png").rename(recon / "restored.png")
    assert run(truth / "a.png", recon / "restored.png", "--metrics", "psnr") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["image", "psnr"]
    assert lines[1].split() == ["restored", f"{expected()[0]:.4f}"]
    assert lines[-1].split()[:3] == ["psnr", f"{expected()[0]:.4f}", "dB"]


def test_parquet_is_paired_by_id(folders, tmp_path, capsys):
    truth = [png(picture(seed)) for seed in range(3)]
    recon = [png(changed(picture(seed), 5 * (seed + 1))) for seed in range(3)]
    pq.write_table(pa.table({"id": list(NAMES), "image": truth}), tmp_path / "truth.parquet")
    shuffled = pa.table({"id": ["c", "a", "b"], "image": truth, "reconstruction": [recon[2], recon[0], recon[1]]})
    pq.write_table(shuffled, tmp_path / "recon.parquet")
    for first in (tmp_path / "truth.parquet", folders[0]):
        assert run(first, tmp_path / "recon.parquet", "--metrics", "psnr", "--json") == 0
        rows = json.loads(capsys.readouterr().out)["rows"]
        assert [row["psnr"] for row in rows] == pytest.approx(expected(), abs=1e-4)


def test_unpaired_names_are_reported(folders, capsys):
    truth, recon = folders
    (recon / "extra.png").write_bytes(png(picture(9)))
    assert run(*folders, "--metrics", "psnr") == 0
    assert "not scored, reconstructions without a ground truth (1): extra" in capsys.readouterr().err
    (truth / "lonely.png").write_bytes(png(picture(8)))
    assert run(*folders, "--metrics", "psnr", "--json") == 1
    told = capsys.readouterr()
    assert "not scored, ground truths without a reconstruction (1): lonely" in told.err
    assert json.loads(told.out)["only_truth"] == ["lonely"]


def test_rows_that_fail_do_so_alone(folders, capsys, tmp_path):
    recon = folders[1]
    (recon / "a.png").write_bytes(b"not a picture")
    (recon / "b.png").write_bytes(png(picture(1, side=20)))
    assert run(*folders, "--metrics", "psnr", "--json", "--out", tmp_path / "s.parquet") == 1
    told = json.loads(capsys.readouterr().out)
    assert "cannot be read as a picture" in told["rows"][0]["error"]
    assert told["rows"][1]["error"] == "image b: it is 20x20 and its truth 16x16: they must be equal."
    assert told["rows"][2]["psnr"] == pytest.approx(expected()[2], abs=1e-4)
    assert (told["summary"][0]["count"], told["summary"][0]["failed"]) == (1, 2)
    assert ScoreTable.read(tmp_path / "s.parquet").values("recon", "psnr").failed_count == 2
    assert run(*folders, "--metrics", "psnr") == 1
    assert "failed a: image a" in capsys.readouterr().err


def test_a_picture_too_small_for_one_metric_has_the_others(folders, capsys):
    for folder in folders:
        (folder / "b.png").write_bytes(png(picture(1, side=8) if folder is folders[0] else picture(2, side=8)))
    assert run(*folders, "--metrics", "ssim", "psnr", "--json") == 1
    told = json.loads(capsys.readouterr().out)
    small = told["rows"][1]
    assert small["ssim"] is None
    assert small["psnr"] > 0
    assert "they must be at least 11x11" in small["error"]
    assert [entry["failed"] for entry in told["summary"]] == [1, 0]


def test_an_empty_cell_of_a_table_is_a_failed_row(tmp_path, capsys):
    one = png(picture(0))
    pq.write_table(pa.table({"id": [1, 2], "image": [one, one]}), tmp_path / "t.parquet")
    pq.write_table(pa.table({"id": [1, 2], "image": [one, None]}), tmp_path / "r.parquet")
    assert run(tmp_path / "t.parquet", tmp_path / "r.parquet", "--metrics", "psnr", "--json") == 1
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows[0]["psnr"] == "inf"
    assert rows[1]["error"] == "image 2: the table has none."


def test_settings_reach_every_metric_that_knows_them(folders, capsys):
    values = []
    for words in ([], ["--set", "window=uniform"]):
        assert run(*folders, "--metrics", "ssim", "--json", *words) == 0
        values.append(json.loads(capsys.readouterr().out)["rows"][0]["ssim"])
    assert values[0] != pytest.approx(values[1])


def test_distances_between_the_sets(folders, capsys):
    try:
        find_weights("vgg16", allow_download=False)
    except InputError as error:
        pytest.skip(str(error))
    (folders[1] / "b.png").write_bytes(b"not a picture")
    assert run(*folders, "--metrics", "kd_vgg16", "--json", "--set", "subsets=5") == 1
    (distance,) = json.loads(capsys.readouterr().out)["distributions"]
    assert np.isfinite(distance["value"])
    assert (distance["count_truth"], distance["count_images"]) == (2, 2)


def test_the_default_leaves_out_what_has_no_weights_and_says_so(folders, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.delenv("G2D2_WEIGHTS", raising=False)
    monkeypatch.delenv("G2D2_ALLOW_DOWNLOAD", raising=False)
    monkeypatch.setattr("eval.weights.importlib.util.find_spec", lambda name: None)
    assert run(*folders, "--json") == 0
    told = capsys.readouterr()
    assert [entry["metric"] for entry in json.loads(told.out)["summary"]] == ["psnr", "ssim"]
    assert told.err.startswith("without lpips_vgg: weights: vgg16 was found in none of")


def test_a_distance_that_is_unavailable_says_why(folders, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.delenv("G2D2_ALLOW_DOWNLOAD", raising=False)
    monkeypatch.setattr("eval.distribution.inception.platform.system", lambda: "Windows")  # its home is then here
    monkeypatch.chdir(tmp_path)
    assert run(*folders, "--metrics", "psnr", "fid", "--json") == 1
    (fid,) = json.loads(capsys.readouterr().out)["distributions"]
    assert fid["name"] == "fid"
    assert "Inception" in fid["unavailable"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["{truth}", "{recon}", "--metrics", "sharpness"], "metrics: 'sharpness' is unknown; choose from"),
        (["{truth}", "{recon}", "--metrics", "residual"], "needs the measurement"),
        (["{truth}", "{recon}", "--metrics", "psnr", "--set", "window=uniform"], "'window' is not a setting"),
        (["{truth}", "{recon}", "--metrics", "ssim", "--set", "window=round"], "window is 'round'"),
        (["{truth}", "{recon}", "--metrics", "psnr", "--batch", "0"], "batch is 0"),
        (["{truth}", "nowhere", "--metrics", "psnr"], "nowhere: there is no such file or folder"),
        (["{truth}", "{recon}/a.png", "--metrics", "psnr"], "they must be two pictures, or two folders"),
        (["{truth}", "{empty}", "--metrics", "psnr"], "no name is in both"),
        (["{truth}", "{double}", "--metrics", "psnr"], "a.jpg and a.png have the same stem"),
        (["{truth}", "{wrong}/columns.parquet", "--metrics", "psnr"], "it must have id and one of"),
        (["{truth}", "{wrong}/text.parquet", "--metrics", "psnr"], "it must hold encoded pictures"),
        (["{truth}", "{wrong}/twice.parquet", "--metrics", "psnr"], "id 'a' is there twice"),
        (["{truth}", "{wrong}/broken.parquet", "--metrics", "psnr"], "cannot be read as Parquet"),
    ],
)
def test_what_cannot_run_is_one_sentence(words, sentence, folders, tmp_path, capsys):
    places = {"truth": folders[0], "recon": folders[1]}
    for name in ("empty", "double", "wrong"):
        places[name] = tmp_path / name
        places[name].mkdir()
    for ending in ("png", "jpg"):
        (places["double"] / f"a.{ending}").write_bytes(png(picture(0)))
    pq.write_table(pa.table({"id": ["a"], "picture": [b""]}), places["wrong"] / "columns.parquet")
    pq.write_table(pa.table({"id": ["a"], "image": ["text"]}), places["wrong"] / "text.parquet")
    pq.write_table(pa.table({"id": ["a", "a"], "image": [b"", b""]}), places["wrong"] / "twice.parquet")
    (places["wrong"] / "broken.parquet").write_bytes(b"PAR1 not really")
    assert run(*(word.format(**places) for word in words)) == 2
    told = capsys.readouterr()
    assert sentence in told.err
    assert (told.out, len(told.err.splitlines())) == ("", 1)


def test_an_unreadable_truth_is_not_blamed_on_its_reconstruction(tmp_path, capsys):
    Image.new("RGB", (32, 32), "red").save(tmp_path / "b.png")
    (tmp_path / "a.png").write_bytes(b"no picture")
    assert cli.main(["eval", str(tmp_path / "a.png"), str(tmp_path / "b.png"), "--metrics", "psnr"]) == 1
    assert "image b (truth): it cannot be read as a picture" in capsys.readouterr().err
