import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from g2d2.training.data import PROMPTS, balanced, fetch, load_split
from g2d2.training.heldout import write_held_out
from operators.errors import InputError


def test_a_png_row_is_an_image(data_folder: Path) -> None:
    split = load_split(data_folder, "train")
    assert split.images.shape == (100, 3, 32, 32)
    rows = np.asarray(Image.open(data_folder / "data_batch_2.png"))
    assert (split.images[23].permute(1, 2, 0).numpy() == rows[3].reshape(32, 32, 3)).all()
    assert split.labels[23] == 3


def test_prompts_use_the_right_article() -> None:
    assert PROMPTS[0] == "a photo of an airplane"
    assert PROMPTS[6] == "a photo of a frog"


def test_missing_files_and_miscounted_labels_are_named(data_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    shutil.copytree(data_folder, folder)
    (folder / "test_lables.json").write_text(json.dumps([1, 2]))
    with pytest.raises(InputError, match="20 test images but 2 labels"):
        load_split(folder, "test")
    (folder / "data_batch_4.png").unlink()
    with pytest.raises(InputError, match=r"lacks data_batch_4\.png"):
        load_split(folder, "train")


def test_fetch_uses_what_the_cache_holds(data_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(data_folder, tmp_path / "package")
    assert fetch(tmp_path) == tmp_path / "package"


def test_held_out_file_is_balanced_and_decodes(data_folder: Path, tmp_path: Path) -> None:
    split = balanced(load_split(data_folder, "test"), 15)
    write_held_out(split, tmp_path / "held.parquet")
    table = pq.read_table(tmp_path / "held.parquet")
    rows = table.to_pylist()
    counts = np.bincount([row["label"] for row in rows], minlength=10)
    assert len({row["id"] for row in rows}) == 15
    assert counts.max() - counts.min() <= 1
    assert rows[0]["prompt"] == PROMPTS[rows[0]["label"]]
    assert b"Krizhevsky" in table.schema.metadata[b"attribution"]
    (tmp_path / "one.png").write_bytes(rows[4]["image"])
    pixels = np.asarray(Image.open(tmp_path / "one.png"))
    assert (pixels == split.images[4].permute(1, 2, 0).numpy()).all()
