"""The networks of Guo et al. (CVPR 2022) that match motions with captions, by the names of their published tensors."""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.nn.utils.rnn import pack_padded_sequence

from operators.skeleton import LONGEST

SEEN, STRIDE = 259, 4
"""Features that are read, all but the four contacts, and frames of a movement."""
WORD, PARTS, EMBEDDING = 300, 15, 512
"""Numbers of a word, parts of speech, and dimension of the common space."""


class Movements(nn.Module):
    """Four frames of normalised features at a time."""

    def __init__(self, width: int = 512) -> None:
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv1d(SEEN, width, 4, 2, 1), nn.Dropout(0.2), nn.LeakyReLU(0.2),
            nn.Conv1d(width, width, 4, 2, 1), nn.Dropout(0.2), nn.LeakyReLU(0.2),
        )  # fmt: skip
        self.out_net = nn.Linear(width, width)

    def forward(self, z: Tensor, lengths: Tensor) -> Tensor:
        """(B, 49, width); frames beyond a row's whole movements are zeros up to the longest clip, as in training."""
        inside = torch.arange(z.shape[1], device=z.device) < (lengths // STRIDE * STRIDE)[:, None]
        seen = pad(z[..., :SEEN] * inside[..., None], (0, 0, 0, LONGEST - z.shape[1]))
        moves: Tensor = self.out_net(self.main(seen.mT).mT)
        return moves


class Recurrent(nn.Module):
    """The last states of both directions over a sequence, as one embedding."""

    def __init__(self, seen: int, width: int, embedding: int = EMBEDDING) -> None:
        super().__init__()
        self.input_emb = nn.Linear(seen, width)
        self.gru = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.output_net = nn.Sequential(
            nn.Linear(2 * width, width), nn.LayerNorm(width), nn.LeakyReLU(0.2), nn.Linear(width, embedding)
        )
        self.hidden = nn.Parameter(torch.zeros(2, 1, width))

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """(B, embedding) of sequences (B, L, seen), each of its own length."""
        packed = pack_padded_sequence(self.input_emb(x), lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, last = self.gru(packed, self.hidden.expand(-1, len(x), -1).contiguous())
        embedded: Tensor = self.output_net(torch.cat([last[0], last[1]], dim=1))
        return embedded


class Captions(Recurrent):
    """Words, each with its part of speech."""

    def __init__(self, width: int = 512) -> None:
        super().__init__(WORD, width)
        self.pos_emb = nn.Linear(PARTS, WORD)

    def embed(self, words: Tensor, parts: Tensor, lengths: Tensor) -> Tensor:
        """(B, embedding) of vectors (B, L, 300) and parts of speech (B, L, 15)."""
        return self.forward(words + self.pos_emb(parts), lengths)


class T2MNetworks(nn.Module):
    """The three networks by their names in the published file, with weights yet to be loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.movement_encoder = Movements()
        self.motion_encoder = Recurrent(512, 1024)
        self.text_encoder = Captions()

    def embed_motions(self, z: Tensor, lengths: Tensor) -> Tensor:
        """(B, 512) of normalised features (B, F, 263), each row of its own length."""
        return self.motion_encoder.forward(self.movement_encoder(z, lengths), lengths // STRIDE)
