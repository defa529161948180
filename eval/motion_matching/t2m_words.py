"""Captions as the published evaluator reads them: word vectors and parts of speech, from files that a user brings."""

import pickletools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eval.motion_matching.t2m_networks import PARTS, WORD
from operators.errors import InputError
from operators.validation import shorten

LONGEST_CAPTION = 20
"""Words that are read of a caption, between a word for its start and one for its end."""
_PARTS = ("VERB", "NOUN", "DET", "ADP", "NUM", "AUX", "PRON", "ADJ", "ADV")
_SPECIAL = (
    "left right clockwise counterclockwise anticlockwise forward back backward up down straight curve",
    "arm chin foot feet face hand mouth leg waist eye knee shoulder thigh",
    "stair dumbbell chair window floor car ball handrail baseball basketball",
    "walk run swing pick bring kick put squat throw hop dance jump turn stumble stop sit lift lower raise wash stand "
    "kneel stroll rub bend balance flap jog shuffle lean rotate spin spread climb",
    "slowly carefully fast careful slow quickly happy angry sad happily angrily sadly",
)
"""Places, body parts, things, actions and manners that have a part of speech of their own, in the published order."""
_OTHER = PARTS - 1
_OWN_PART = {word: len(_PARTS) + kind for kind, words in enumerate(_SPECIAL) for word in words.split()}
_NUMBERS = {"BININT", "BININT1", "BININT2", "LONG1", "INT"}
_PLAIN = {"PROTO", "FRAME", "EMPTY_DICT", "MARK", "SETITEM", "SETITEMS", "MEMOIZE", "BINPUT", "LONG_BINPUT", "STOP"}
"""Steps of a pickle that make a dictionary of words and numbers."""


class WordVectors:
    """Vectors of 300 numbers by word; a word without one is `unk`."""

    def __init__(self, rows: Mapping[str, int], vectors: NDArray[np.float32]) -> None:
        self.rows, self.vectors = rows, vectors

    @classmethod
    def read(cls, vectors: Path, rows: Path) -> "WordVectors":
        """From `our_vab_data.npy` and `our_vab_idx.pkl`."""
        try:
            table = np.load(vectors, allow_pickle=False).astype(np.float32)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(f"evaluator: {vectors} cannot be read as an array ({shorten(str(error))}).") from None
        if table.ndim != 2 or table.shape[1] != WORD:
            raise InputError(f"evaluator: {vectors} has shape {table.shape}: it must be (words, {WORD}).")
        known = read_rows(rows)
        for word in ("unk", "sos", "eos"):
            if word not in known:
                raise InputError(f"evaluator: {rows} has no word {word!r}.")
        if max(known.values()) >= len(table) or min(known.values()) < 0:
            raise InputError(f"evaluator: {rows} names rows beyond the {len(table)} of {vectors}.")
        return cls(known, table)

    def caption(self, tagged: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Vectors (L, 300) and parts of speech (L, 15) of words such as `walks/VERB`, with start and end."""
        whole = ["sos/OTHER", *tagged[:LONGEST_CAPTION], "eos/OTHER"]
        vectors, parts = torch.zeros(len(whole), WORD), torch.zeros(len(whole), PARTS)
        for place, token in enumerate(whole):
            word, _, part = token.rpartition("/")
            known = word in self.rows
            vectors[place] = torch.from_numpy(self.vectors[self.rows[word if known else "unk"]])
            parts[place, part_of_speech(word, part) if known else _OTHER] = 1
        return vectors, parts


def part_of_speech(word: str, part: str) -> int:
    """The column of a word: one of its own kind where it has one, else of its tag."""
    return _OWN_PART.get(word, _PARTS.index(part) if part in _PARTS else _OTHER)


def read_rows(path: Path) -> dict[str, int]:
    """A pickled dictionary of words and numbers, read step by step: nothing in the file is ever executed."""
    words: list[str] = []
    rows: list[int] = []
    try:
        for step, value, _ in pickletools.genops(path.read_bytes()):
            if "UNICODE" in step.name:
                words.append(str(value))
            elif step.name in _NUMBERS:
                rows.append(int(value or 0))
            elif step.name not in _PLAIN:
                raise ValueError(f"it holds {step.name}, and not words and numbers alone")
    except (OSError, ValueError) as error:
        raise InputError(f"evaluator: {path} cannot be read as a table of words ({shorten(str(error))}).") from None
    if len(words) != len(rows) or not words:
        raise InputError(f"evaluator: {path} has {len(words)} words and {len(rows)} numbers: they must be as many.")
    return dict(zip(words, rows, strict=True))


def read_captions(folder: Path) -> dict[str, list[str]]:
    """Words with tags by caption, from the lines `caption#words#start#end` of HumanML3D's texts."""
    captions: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.txt")):
        for line in path.read_text("utf-8", "replace").splitlines():
            caption, _, rest = line.strip().partition("#")
            captions.setdefault(caption, rest.partition("#")[0].split())
    return captions
