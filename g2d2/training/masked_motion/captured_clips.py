"""Captured clips for training: read from a Parquet file of joints, each recording once, split by subject."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch
from torch import Tensor

from g2d2.training.masked_motion.motion_prompts import actions, mirrored, plain_label, wordings
from operators.errors import InputError
from operators.skeleton import features_from_joints, on_reference_body
from operators.skeleton.joint_names import JOINTS

FILE = "cmu-joints.parquet"
ACKNOWLEDGEMENT = (
    "The data used in this project was obtained from mocap.cs.cmu.edu. "
    "The database was created with funding from NSF EIA-0196217."
)
SHORTEST = 20
"""Frames of features below which a clip is left out: one second."""
_HELD_OUT_SHARE = 8
"""One subject in so many is held out."""
_FASTEST = 0.5
"""Metres per frame of the root beyond which a recording is damaged: ten metres a second."""
_STEP = 1 / 2000  # metres of one unit
_COLUMNS = ("clip", "subject", "label", "joints")
_TOGETHER = 32


@dataclass(frozen=True)
class Clip:
    """One recording, or its mirror image, with the prompts that may stand for it."""

    name: str
    subject: int
    prompts: tuple[str, ...]
    actions: tuple[str, ...]
    """Those prompts that say what is done and not how, where the label names it."""
    features: Tensor  # (F, 263) float16


@dataclass(frozen=True)
class Clips:
    """Both sides of the split."""

    train: list[Clip]
    """With mirror images."""
    held_out: list[Clip]


def read_clips(data: Path | None) -> Clips:
    """Features of all clips of a Parquet file, or of the one in a folder."""
    rows = _distinct(_read_rows(_parquet_file(data)))
    train_rows = [row for row in rows if not _held_out(row["person"])]
    test_rows = [row for row in rows if _held_out(row["person"])]
    if not train_rows or not test_rows:
        raise InputError(f"data: the {len(rows)} clips of {data} are of too few subjects to hold some of them out.")
    flipped = _clips(train_rows, mirror=True)
    return Clips(_clips(train_rows) + flipped, _clips(test_rows))


def held_out_rows(data: Path | None) -> list[dict[str, Any]]:
    """Rows of the file's clips, each recording once, of the people that are held out, with the `person` of each."""
    return [row for row in _distinct(_read_rows(_parquet_file(data))) if _held_out(row["person"])]


def joints_of(blob: bytes) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Positions (F, 22, 3) in metres from differences in time of half-millimetres."""
    steps = np.frombuffer(blob, "<i2").reshape(-1, len(JOINTS), 3)
    return (np.cumsum(steps, axis=0, dtype=np.int16) * np.float32(_STEP)).astype(np.float32)


def mirror_joints(joints: Tensor) -> Tensor:
    """The mirror image of a body (..., 22, 3): left and right change places, x its sign."""
    twins = [JOINTS.index(_twin(name)) for name in JOINTS]
    return joints[..., twins, :] * joints.new_tensor([-1.0, 1.0, 1.0])


def _twin(name: str) -> str:
    side, _, part = name.partition("_")
    return {"left": "right_", "right": "left_"}.get(side, "") + part if part else name


def _parquet_file(data: Path | None) -> Path:
    if data is None:
        raise InputError(f"data: name the Parquet file of joints ({FILE}): it is not fetched.")
    path = data / FILE if data.is_dir() else data
    if not path.is_file():
        raise InputError(f"data folder {data} lacks {FILE}: name the Parquet file of joints, or the folder that has it")
    return path


def _read_rows(path: Path) -> list[dict[str, Any]]:
    try:
        table = pq.read_table(path, columns=list(_COLUMNS), use_threads=False)
    except (OSError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())[:160]
        raise InputError(f"data: {path} is no table of clips with columns {', '.join(_COLUMNS)} ({reason}).") from None
    return table.to_pylist()  # type: ignore[no-any-return]


def _distinct(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each recording once, with a label where any copy has one, and the `person` it shows.

    The database keeps recordings under two subjects' numbers: both are one person, whose smallest number counts.
    """
    copies = defaultdict(list)
    for row in rows:
        copies[hashlib.sha256(row["joints"]).digest()].append(row)
    person = {row["subject"]: row["subject"] for row in rows}
    for same in copies.values():
        one = {person[row["subject"]] for row in same}
        person |= {number: min(one) for number, whose in person.items() if whose in one}
    chosen = [max(same, key=lambda row: bool(plain_label(row["label"] or ""))) for same in copies.values()]
    return [row | {"person": person[row["subject"]]} for row in chosen]


def _held_out(person: int) -> bool:
    """By a hash of the number, so that more clips change nothing for those that are there."""
    return hashlib.sha256(f"cmu {person}".encode()).digest()[0] % _HELD_OUT_SHARE == 0


def _clips(rows: Sequence[dict[str, Any]], mirror: bool = False) -> list[Clip]:
    """Clips in the order of their lengths, which are computed a few at once."""
    bodies = [torch.from_numpy(joints_of(row["joints"])) for row in rows]
    order = sorted((n for n, body in enumerate(bodies) if len(body) > SHORTEST), key=lambda n: len(bodies[n]))
    clips = []
    for start in range(0, len(order), _TOGETHER):
        some = order[start : start + _TOGETHER]
        lengths = torch.tensor([len(bodies[n]) for n in some])
        joints = torch.nn.utils.rnn.pad_sequence([bodies[n] for n in some], batch_first=True)
        joints = on_reference_body(mirror_joints(joints) if mirror else joints)
        features = features_from_joints(joints, lengths)
        for n, own in zip(some, features, strict=True):
            if float(own[:, 1:3].norm(dim=1).max()) > _FASTEST:
                continue
            prompts = wordings(rows[n]["label"] or "")
            clips.append(
                Clip(
                    rows[n]["clip"] + ("-mirrored" if mirror else ""),
                    rows[n]["person"],
                    tuple(map(mirrored, prompts)) if mirror else prompts,
                    actions(rows[n]["label"] or ""),
                    own[: len(bodies[n]) - 1].half(),
                )
            )
    return clips
