"""`g2d2 compare`, as a nightly job would call it."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as xml

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eval.scores import PROVENANCE, score_schema
from pipelines import cli

LEVEL = np.random.default_rng(0).normal(23, 3, 64)


def write(path, shift=0.0, metric="psnr", seed=0, scoring=1, **solved_on):
    noise = np.random.default_rng(seed).normal(0, 0.2, 64)
    rows = [
        {"item": str(i), "measurement": f"m{i}", "measurement_digest": f"d{i}", "cell": "c", "seed": 0, metric: value}
        | {"process": "star"}
        | solved_on
        for i, value in enumerate((LEVEL + noise + shift).tolist())
    ]
    schema = score_schema([metric], {"process": pa.string()}, PROVENANCE, scoring)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return path


@pytest.fixture
def accepted(tmp_path):
    return write(tmp_path / "accepted.parquet")


def run(*words):
    return cli.main(["compare", *map(str, words)])


def test_exit_codes_tell_unchanged_from_regressed(accepted, tmp_path, capsys):
    assert run(accepted, accepted) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "passed: 1 unchanged"
    worse = write(tmp_path / "worse.parquet", -0.5, seed=1)
    assert run(worse, accepted) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[1].split()[:3] == ["regressed", "psnr", "star"]
    assert out[-1] == "failed: 1 regressed"
    assert run(worse, accepted, "--tolerance", "psnr=1.0") == 0


def test_files_for_machines_and_people(accepted, tmp_path, capsys):
    worse = write(tmp_path / "worse.parquet", -0.5, seed=1)
    junit, markdown = tmp_path / "new" / "gate.xml", tmp_path / "gate.md"
    assert run(worse, accepted, "--json", "--junit", junit, "--markdown", markdown, "--confidence", "0.99") == 1
    facts = json.loads(capsys.readouterr().out)
    assert facts["judgements"][0]["verdict"] == "regressed"
    assert facts["judgements"][0]["confidence"] == 0.99
    assert xml.parse(junit).getroot().get("failures") == "1"
    assert markdown.read_text().startswith("**failed: 1 regressed**")


def test_missing_results_fail(accepted, tmp_path, capsys):
    pq.write_table(pq.read_table(accepted).slice(1), tmp_path / "short.parquet")
    assert run(tmp_path / "short.parquet", accepted) == 1
    assert "1 of 64 items is not in the candidate" in capsys.readouterr().out


def test_what_cannot_run_exits_with_2_and_one_sentence(accepted, tmp_path, capsys):
    own = write(tmp_path / "own.parquet", metric="sharpness")
    for words, said in (
        ((tmp_path / "none.parquet", accepted), "there is no such file"),
        ((accepted, accepted, "--tolerance", "ssim=0.1"), "'ssim' cannot be judged; the baseline has psnr"),
        ((accepted, accepted, "--tolerance", "psnr"), "is not METRIC=NUMBER"),
        ((accepted, accepted, "--confidence", "1"), "confidence is 1.0"),
        ((own, own), "no metric has one of its own"),
    ):
        assert run(*words) == 2
        error = capsys.readouterr().err.strip()
        assert said in error
        assert len(error.splitlines()) == 1
    assert run(own, own, "--tolerance", "sharpness:higher=1%") == 0


def test_help_has_an_example_and_the_defaults(capsys):
    with pytest.raises(SystemExit):
        run("--help")
    text = capsys.readouterr().out
    assert "example:\n  g2d2 compare " in text
    assert "what each metric says of itself" in " ".join(text.split())
    assert "lpips_vgg=2%" in " ".join(text.split())


def test_comparing_starts_neither_ray_nor_a_model_library(accepted):
    code = (
        f"import sys\nfrom pipelines.cli import main\nmain(['compare', {str(accepted)!r}, {str(accepted)!r}])\n"
        "print([m for m in ('ray', 'mlflow', 'diffusers', 'transformers') if m in sys.modules])"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_what_both_were_solved_on_is_shown_where_it_differs(accepted, tmp_path, capsys):
    """None of it is in an id: equal ids on another device, in other batches, can differ in their last bits."""
    before = write(tmp_path / "before.parquet", device="cpu", batch_rows=8, torch="2.12.0", threads=1)
    now = write(tmp_path / "now.parquet", device="NVIDIA A100", batch_rows=16, torch="2.13.0", threads=1)
    assert run(now, before) == 0
    (note,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note:")]
    assert note.endswith("device cpu -> NVIDIA A100, batch 8 -> 16, torch 2.12.0 -> 2.13.0")
    assert run(now, now) == run(now, accepted) == 0  # what was never recorded is not called different
    assert "note:" not in capsys.readouterr().out


def test_another_version_of_scoring_is_shown(accepted, tmp_path, capsys):
    now = write(tmp_path / "now.parquet", scoring=2)
    assert run(now, accepted) == 0
    (note,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note:")]
    assert "scoring version 1 -> 2" in note
    assert run(now, now) == 0
    assert "note:" not in capsys.readouterr().out
