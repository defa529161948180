"""A prior of grey images, from pictures over a sweep to scores, distances, report and MLflow's panels."""

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from g2d2.priors.vq_diffusion.random_weights import TINY, random_components
from pipelines.report import PAGE
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.track.panels import Panels
from tests.pipelines.sweep_cases import run, specification, write_spec

BLUR = ["--operator", "gaussian_blur", "--set", "kernel_size=5", "std=0.8", "--sigma", "0.05"]


@pytest.fixture(scope="module")
def grey_prior(tmp_path_factory):
    """16x16 images: the least that LPIPS takes."""
    folder = tmp_path_factory.mktemp("grey-prior")
    random_components(replace(TINY, token_side=8, channels=1)).save(folder)
    return folder


def draw(folder, count):
    random = np.random.default_rng(0)
    folder.mkdir()
    for index in range(count):
        Image.fromarray(random.integers(0, 255, (16, 16, 3), dtype=np.uint8)).save(folder / f"p{index}.png")
    return folder


@pytest.mark.slow
def test_a_grey_prior_is_swept_scored_and_reported(local_ray, grey_prior, tmp_path):
    source = draw(tmp_path / "pictures", 2)
    assert run("manifest", "build", source, tmp_path / "m", *BLUR, "--grey") == 0
    values = specification(tmp_path / "m", grey_prior, tmp_path / "o", grid={})
    values |= {"metrics": ["psnr", "ssim", "lpips_vgg", "residual"], "distribution": ["fd_vgg16"]}
    assert run("sweep", write_spec(tmp_path / "s.yaml", values)) == 0
    folder = SweepFolder(values["output"])
    sweep = StoredSweep.read(folder)
    table = sweep.scores.table
    assert all(np.isfinite(table[name].to_numpy()).all() for name in values["metrics"])
    (distances,) = sweep.distances.values()
    assert distances["fd_vgg16"].whole
    assert run("report", folder.url) == 0
    assert b"data:image/png" in folder.store.read_bytes(PAGE)
    (cell,) = sweep.record.cells
    assert Panels(sweep).draw(cell)["panel.png"].startswith(b"\x89PNG")


@pytest.mark.slow
def test_features_that_a_worker_skipped_are_made_by_the_next_run(local_ray, small_manifest, tiny_prior, tmp_path):
    """A worker without weights leaves a shard without features, although its scores are committed."""
    values = specification(small_manifest, tiny_prior, tmp_path / "o", grid={}, metrics=["psnr"])
    values |= {"distribution": ["fd_vgg16"], "select": {"limit": 2}, "resources": {"shard": 1, "devices": 1}}
    path = write_spec(tmp_path / "s.yaml", values)
    assert run("sweep", path) == 0
    lost, *others = (tmp_path / "o" / "features").rglob("*.parquet")
    assert others
    whole = pq.read_table(lost)
    lost.unlink()
    assert run("sweep", path) == 0
    assert pq.read_table(lost).equals(whole)


def test_a_picture_is_solved_with_a_grey_prior(grey_prior, tmp_path, capsys):
    """Its PSNR is that of the PNG that was written."""
    source = draw(tmp_path / "pictures", 1) / "p0.png"
    quick = ["--set", "steps=2", "iterations=2", "guidance=1"]
    assert run("solve", source, "--prior", grey_prior, *BLUR, *quick, "--out", tmp_path / "out", "--json") == 0
    psnr = json.loads(capsys.readouterr().out)["psnr"]
    truth = np.asarray(Image.open(source).convert("L"), dtype=float)
    error = (np.asarray(Image.open(tmp_path / "out" / "p0.png"), dtype=float) - truth) / 255
    assert psnr == pytest.approx(-10 * np.log10((error**2).mean()), abs=1e-4)
