"""`g2d2 manifest` as a person uses it."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from pipelines.manifest import building


@pytest.fixture
def built(g2d2, tmp_path):
    words = ["cifar10-heldout", tmp_path / "m", "--task", "sr4-32", "gaussian-deblur-32", "--limit", 5]
    assert g2d2("build", *words)[0] == 0
    return tmp_path / "m"


def test_build_tells_what_it_did_and_keeps_how(built, g2d2):
    summary = json.loads((built / "manifest.json").read_text())
    assert (summary["format_version"], summary["rows"], summary["rejected"]) == (2, 10, [])
    assert summary["built"] == {
        "g2d2": summary["built"]["g2d2"],
        "source": "cifar10-heldout",
        "tasks": ["sr4-32", "gaussian-deblur-32"],
        "limit": 5,
    }
    words = ["cifar10-heldout", built, "--task", "sr4-32", "gaussian-deblur-32", "--limit"]
    code, said, _ = g2d2("build", *words, 5)
    assert code == 0
    assert "is there already, the same: 10 measurements of 5 pictures" in said
    code, said, errors = g2d2("build", *words, 4)
    assert (code, said) == (2, "")
    assert "--overwrite replaces it" in errors


def test_an_operator_with_settings_and_a_template(g2d2, tmp_path):
    words = [
        "cifar10-heldout",
        tmp_path / "m",
        "--operator",
        "random_inpainting",
        "--set",
        "keep=0.5",
        "--sigma",
        "0.1",
    ]
    code, said, _ = g2d2("build", *words, "--prompt-template", "the {label}", "--per-label", 1, "--seed", 3)
    assert code == 0
    assert "10 measurements" in said
    code, said, _ = g2d2("show", tmp_path / "m", "--rows", 2, "--json")
    shown = json.loads(said)
    assert shown["built"]["params"] == {"keep": 0.5}
    row = shown["first_rows"][1]
    assert (row["id"], row["prompt"], row["sigma"]) == ("random_inpainting/automobile-000", "the automobile", 0.1)
    assert json.loads(row["operator_params"]) == {"keep": 0.5, "seed": 0}


def test_show_prints_a_summary_and_rows_and_draws_a_sheet(built, g2d2, tmp_path):
    code, said, _ = g2d2("show", built, "--rows", 3, "--sheet", tmp_path / "new" / "sheet.png")
    assert code == 0
    assert "measurements  10 in 1 file\n" in said
    table = said.split("\n\n")[1].splitlines()
    assert table[0].split() == ["id", "task", "operator", "sigma", "prompt", "x", "y"]
    assert len(table) == 4
    assert table[1].split()[0] == "sr4-32/airplane-000"
    assert table[1].endswith("  32x32  8x8")
    sheet = np.asarray(Image.open(tmp_path / "new" / "sheet.png"))
    assert sheet.shape == (378, 3 * 168 + 8, 3)
    above, below = sheet[8:168, 8:168], sheet[176:336, 8:168]
    assert np.array_equal(below, np.repeat(np.repeat(below[::20, ::20], 20, 0), 20, 1))  # 8x8 pixels, sharp
    assert not np.array_equal(above, np.repeat(np.repeat(above[::20, ::20], 20, 0), 20, 1))
    assert np.array_equal(sheet[8:168, 8:168], sheet[8:168, 176:336])  # the same truth under both tasks


def test_bad_words_are_one_sentence_and_exit_code_2(built, g2d2, tmp_path):
    for words, message in (
        (["show", tmp_path / "none"], "there is no such manifest"),
        (["show", built, "--rows", 0], "rows: 0 must be at least 1"),
        (["build", "none", tmp_path / "x", "--task", "sr4-32"], "none is missing or without pictures"),
        (["build", "cifar10-heldout", tmp_path / "x", "--task", "sr4-32", "--set", "factor=2"], "--set: it goes with"),
        (["build", "cifar10-heldout", tmp_path / "x", "--operator", "blur"], "operator is 'blur'"),
        (["build", "cifar10-heldout", tmp_path / "x", "--task", "sr4-256", "--limit", 1], "must be 256x256; --resize"),
        (["build", "cifar10-heldout", "s3://key:secret@bucket/x", "--task", "sr4-32"], "holds credentials"),
    ):
        code, said, errors = g2d2(*words)
        assert (code, said) == (2, "")
        assert message in errors.splitlines()[-1]
        assert "secret@" not in errors


def test_ctrl_c_says_that_the_manifest_is_not_complete(g2d2, tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(building, "to_batch", interrupted)
    code, _, errors = g2d2("build", "cifar10-heldout", tmp_path / "m", "--task", "sr4-32", "--limit", 3)
    assert code == 130
    assert "is not complete, the same command builds it anew" in errors
    assert not (tmp_path / "m").exists()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_rows(make_table, tmp_path):
    buffer = io.BytesIO()
    Image.new("RGB", (64, 64), "teal").save(buffer, "PNG")  # small as a file, 49 kB as a measurement
    script = (
        "import resource, sys; from pipelines import cli; code = cli.main(sys.argv[1:]); "
        "print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    used = {}
    for count in (100, 1000):
        source = make_table(count, f"{count}.parquet", images=[buffer.getvalue()] * count)
        words = [
            "manifest",
            "build",
            source,
            str(tmp_path / str(count)),
            "--operator",
            "identity",
            "--rows-per-shard",
            "50",
        ]
        done = subprocess.run(
            [sys.executable, "-c", script, *words],
            capture_output=True,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        assert done.returncode == 0, done.stderr
        code, used[count] = map(int, done.stdout.splitlines()[-1].split())
        assert code == 0, done.stderr
    assert used[1000] - used[100] < 20 * 1024  # KiB, where the measurements alone are 43 MiB more
