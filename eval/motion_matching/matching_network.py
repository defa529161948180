"""The network: convolutions and a recurrent layer over motions, a bag of words over prompts, one space for both."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import torch
from pydantic import BaseModel, ConfigDict
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.functional import normalize, pad
from torch.nn.utils.rnn import pack_padded_sequence

from eval.motion_matching.prompt_words import prompt_words
from operators.errors import InputError
from operators.skeleton import FEATURES, MotionNormalisation
from operators.validation import shorten

SEEN = 259
"""Features that are read: all but the four contacts, as in the published evaluator."""
STRIDE = 4
"""Frames of a movement."""
_SETTINGS, _WEIGHTS = "config.json", "model.safetensors"


class MatchingSettings(BaseModel):
    """Sizes of a network and the words that it knows."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    words: tuple[str, ...]
    """Stems by row of the word table."""
    width: int = 128
    """Channels of the convolutions, and states of the recurrent layer in each direction."""
    word_width: int = 64
    """Numbers of a word."""
    embedding: int = 64
    """Dimension of the common space."""
    dropout: float = 0.2
    """While it is trained."""


class MatchingNetwork(nn.Module):
    """Embeds motions and prompts on one sphere, near each other where they belong together."""

    mean: Tensor
    std: Tensor

    def __init__(self, settings: MatchingSettings) -> None:
        super().__init__()
        self.settings = s = settings
        self.places = {word: row for row, word in enumerate(s.words)}
        self.register_buffer("mean", torch.zeros(FEATURES))
        self.register_buffer("std", torch.ones(FEATURES))
        drop, act = nn.Dropout(s.dropout), nn.LeakyReLU(0.2)
        self.movements = nn.Sequential(
            nn.Conv1d(SEEN, s.width, 4, stride=2, padding=1), act, drop,
            nn.Conv1d(s.width, s.width, 4, stride=2, padding=1), act, drop,
        )  # fmt: skip
        self.motion = nn.GRU(s.width, s.width, batch_first=True, bidirectional=True)
        self.motion_head = nn.Sequential(drop, nn.Linear(2 * s.width, s.width), act, nn.Linear(s.width, s.embedding))
        self.words = nn.EmbeddingBag(len(s.words), s.word_width, mode="sum")
        self.text_head = nn.Sequential(drop, nn.Linear(s.word_width, s.width), act, nn.Linear(s.width, s.embedding))

    @property
    def normalisation(self) -> MotionNormalisation:
        """The mean and standard deviation that travel with the weights."""
        return MotionNormalisation(self.mean, self.std)

    def take(self, normalisation: MotionNormalisation) -> None:
        """Keep the statistics of the clips that it is trained on."""
        self.mean.copy_(normalisation.mean)
        self.std.copy_(normalisation.std)

    def embed_motions(self, features: Tensor, lengths: Tensor) -> Tensor:
        """(B, E) of unnormalised features (B, F, 263), of which each row has so many frames, at least four."""
        seen = ((features - self.mean) / self.std)[..., :SEEN]
        inside = torch.arange(seen.shape[1], device=seen.device) < lengths[:, None]
        # still frames beyond the end, for the longest clip too: a row has no other neighbours in a batch than alone
        seen = pad(seen * inside[..., None], (0, 0, 0, STRIDE))
        moves = self.movements(seen.transpose(1, 2)).transpose(1, 2)  # (B, F/4 + 1, W)
        packed = pack_padded_sequence(moves, (lengths // STRIDE).cpu(), batch_first=True, enforce_sorted=False)
        _, last = self.motion(packed)  # (2, B, W)
        return normalize(self.motion_head(torch.cat([last[0], last[1]], dim=1)), dim=1)

    def embed_words(self, ids: Sequence[Sequence[int]]) -> Tensor:
        """(B, E) of bags of words by their rows."""
        flat = torch.tensor([row for bag in ids for row in bag], dtype=torch.long, device=self.mean.device)
        starts = torch.tensor([0, *(len(bag) for bag in ids)][:-1], device=flat.device).cumsum(0)
        counts = torch.tensor([max(1, len(bag)) for bag in ids], device=flat.device)
        return normalize(self.text_head(self.words(flat, starts) / counts.sqrt()[:, None]), dim=1)

    def ids(self, prompt: str) -> tuple[int, ...]:
        """Rows of the words that it knows; the others are passed over."""
        return tuple(self.places[word] for word in prompt_words(prompt) if word in self.places)

    def save(self, folder: Path) -> None:
        """Sizes and words as JSON, weights in half precision, statistics in full."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _SETTINGS).write_text(self.settings.model_dump_json(indent=1) + "\n")
        state = {
            name: (value if name in ("mean", "std") else value.half()).cpu().contiguous()
            for name, value in self.state_dict().items()
        }
        save_file(state, folder / _WEIGHTS)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """A saved network in float32 on the CPU, for evaluation."""
        try:
            network = cls(MatchingSettings.model_validate_json((folder / _SETTINGS).read_text()))
            state = load_file(folder / _WEIGHTS)
            network.load_state_dict({name: value.float() for name, value in state.items()})
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(f"evaluator: {folder} holds no matching network ({shorten(str(error))}).") from None
        return network.requires_grad_(False).eval()
