"""`t2m`: the evaluator of published tables of text-to-motion, from a folder that the user brings."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from eval.motion_evaluators import MotionEvaluator, embedded_in_parts
from eval.motion_matching.t2m_networks import T2MNetworks
from eval.motion_matching.t2m_words import WordVectors, read_captions
from eval.weights import WEIGHTS_ENV
from g2d2.priors.plain_tensors import read_plain
from operators.errors import InputError
from operators.skeleton import MotionNormalisation
from operators.validation import shorten

WEIGHTS, MEAN, STD, VECTORS, ROWS, TEXTS = (
    "finest.tar", "mean.npy", "std.npy", "our_vab_data.npy", "our_vab_idx.pkl", "texts",
)  # fmt: skip


class T2MEvaluator(MotionEvaluator):
    """Reads `finest.tar`, the evaluator's own `mean.npy` and `std.npy`, word vectors, and captions with their tags."""

    name: ClassVar[str] = "t2m"

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = find_t2m() if folder is None else folder
        if problem := t2m_problem(self.folder):
            raise InputError(problem)
        self.networks = T2MNetworks()
        _fill(self.networks, self.folder / WEIGHTS)
        self.normalisation = MotionNormalisation(*(_statistics(self.folder / name) for name in (MEAN, STD)))
        self._vectors: WordVectors | None = None
        self._captions: dict[str, list[str]] = {}

    @torch.no_grad()
    def motions(self, clips: Sequence[torch.Tensor]) -> NDArray[np.float32]:
        def some(part: Sequence[torch.Tensor]) -> torch.Tensor:
            lengths = torch.tensor([len(clip) for clip in part])
            z = pad_sequence([self.normalisation.normalise(clip.float()) for clip in part], batch_first=True)
            return self.networks.embed_motions(z, lengths)

        return embedded_in_parts(clips, some)

    @torch.no_grad()
    def texts(self, prompts: Sequence[str]) -> NDArray[np.float32]:
        """Of captions in the folder's texts, or of tagged words: `a/DET person/NOUN walks/VERB`."""
        if self._vectors is None:
            self._vectors = WordVectors.read(self.folder / VECTORS, self.folder / ROWS)
            self._captions = read_captions(self.folder / TEXTS)
        vectors = self._vectors

        def some(part: Sequence[str]) -> torch.Tensor:
            words, parts = zip(*(vectors.caption(self._tagged(prompt)) for prompt in part), strict=True)
            lengths = torch.tensor([len(one) for one in words])
            padded = [pad_sequence(list(own), batch_first=True) for own in (words, parts)]
            return self.networks.text_encoder.embed(padded[0], padded[1], lengths)

        return embedded_in_parts(prompts, some)

    def _tagged(self, prompt: str) -> list[str]:
        words = self._captions.get(prompt) or prompt.split()
        if not words or not all("/" in word for word in words):
            raise InputError(
                f"evaluator: t2m needs parts of speech, and {shorten(prompt)} is no caption of {self.folder / TEXTS}, "
                "where HumanML3D's texts belong; or write it as a/DET person/NOUN walks/VERB."
            )
        return words


def find_t2m() -> Path:
    """The folder `t2m` in the one that G2D2_WEIGHTS names."""
    place = os.environ.get(WEIGHTS_ENV)
    if not place:
        raise InputError(
            "evaluator: t2m is brought by the user: name its folder as t2m:FOLDER, or put it as t2m into the folder "
            f"that {WEIGHTS_ENV} names."
        )
    return Path(place) / "t2m"


def t2m_problem(folder: Path) -> str | None:
    """What a folder lacks to be the evaluator; the words of captions are asked for by what needs them."""
    missing = [name for name in (WEIGHTS, MEAN, STD) if not (folder / name).is_file()]
    if not missing:
        return None
    return f"evaluator: {folder} has no {', '.join(missing)}: t2m needs {WEIGHTS}, {MEAN} and {STD} there."


def _fill(networks: nn.Module, path: Path) -> None:
    """Put a file's tensors into the networks: none missing, none left over, none of another shape."""
    saved = read_plain(path)
    for name, network in networks.named_children():
        state = saved.get(name) if isinstance(saved, dict) else None
        if not isinstance(state, dict):
            raise InputError(f"evaluator: {path} has no {name}: it must be the published {WEIGHTS}.")
        wanted = network.state_dict()
        for key in sorted(wanted.keys() ^ state.keys()):
            side = "has no tensor" if key in wanted else "has another tensor"
            raise InputError(f"evaluator: {path} {side} {name}.{key}: it must be the published {WEIGHTS}.")
        for key, value in wanted.items():
            shape = tuple(getattr(state[key], "shape", ()))
            if shape != tuple(value.shape):
                raise InputError(f"evaluator: {path}: {name}.{key} is {shape}: it must be {tuple(value.shape)}.")
        network.load_state_dict(state)
    networks.requires_grad_(False).eval()


def _statistics(path: Path) -> torch.Tensor:
    try:
        return torch.from_numpy(np.load(path, allow_pickle=False).astype(np.float32))
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"evaluator: {path} cannot be read as an array ({shorten(str(error))}).") from None
