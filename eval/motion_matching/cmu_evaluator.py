"""`cmu`: the embedded evaluator, trained here on captured clips. Its numbers carry names of their own."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from eval.motion_evaluators import MotionEvaluator, embedded_in_parts
from eval.motion_matching.matching_network import MatchingNetwork

EMBEDDED = Path(__file__).parent / "cmu"


class CmuEvaluator(MotionEvaluator):
    """Embeds motions and prompts on one sphere; words that it does not know are passed over."""

    name: ClassVar[str] = "cmu"

    def __init__(self, folder: Path = EMBEDDED) -> None:
        self.network = MatchingNetwork.load(folder)

    @torch.no_grad()
    def motions(self, clips: Sequence[Tensor]) -> NDArray[np.float32]:
        def some(part: Sequence[Tensor]) -> Tensor:
            lengths = torch.tensor([len(clip) for clip in part])
            return self.network.embed_motions(pad_sequence([clip.float() for clip in part], batch_first=True), lengths)

        return embedded_in_parts(clips, some)

    @torch.no_grad()
    def texts(self, prompts: Sequence[str]) -> NDArray[np.float32]:
        return embedded_in_parts(prompts, lambda part: self.network.embed_words([*map(self.network.ids, part)]))
