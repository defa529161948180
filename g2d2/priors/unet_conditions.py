"""What a UNet is told beside the noisy image: nothing, a class, or a text. Each has a blank for guidance."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from g2d2.priors.base import Condition
from g2d2.priors.class_labels import ClassLabels, no_prompt
from g2d2.priors.clip_prompts import padded_ids
from g2d2.priors.prompt_cache import PromptCache
from operators import InputError


class Nothing:
    """For unconditional UNets."""

    networks: tuple[nn.Module, ...] = ()

    def __init__(self) -> None:
        self.place(torch.device("cpu"))

    def place(self, device: torch.device) -> None:
        """Where conditions are wanted from now on; what was made elsewhere is forgotten."""
        self.device = device

    def condition(self, prompts: Sequence[str], guidance: Sequence[float]) -> Condition:
        """(B, 0, 0), and guidance 1, because no other has an effect."""
        for text, scale in zip(prompts, guidance, strict=True):
            if (reason := no_prompt(text, scale)) is not None:
                raise InputError(f"prompt: {text[:60]!r} {reason}.")
        return Condition(
            torch.zeros(len(prompts), 0, 0, device=self.device), torch.ones(len(prompts), dtype=torch.float64)
        )

    def example(self, rows: int) -> Condition:
        """A condition to try networks with."""
        return self.condition([""] * rows, [1.0] * rows)

    def blank(self) -> Tensor:
        """The condition of no prompt. (1, ...)"""
        return torch.zeros(1, 0, 0, device=self.device)

    def arguments(self, embeddings: Tensor) -> dict[str, Tensor]:
        """How the UNet is called with embeddings of a condition."""
        return {}


class Classes(Nothing):
    """For UNets with `num_class_embeds`."""

    def __init__(self, labels: ClassLabels) -> None:
        super().__init__()
        self.labels = labels

    def condition(self, prompts: Sequence[str], guidance: Sequence[float]) -> Condition:
        """Labels. (B, 1, 1)"""
        labels = []
        for text, scale in zip(prompts, guidance, strict=True):
            if (reason := self.labels.misfit(text, scale)) is not None:
                raise InputError(f"prompt: {text[:60]!r} {reason}.")
            null = self.labels.null
            labels.append(null if scale == 0 and null is not None else self.labels.label(text))
        return Condition(
            torch.tensor(labels, device=self.device).view(-1, 1, 1), torch.tensor(guidance, dtype=torch.float64)
        )

    def example(self, rows: int) -> Condition:
        return self.condition(["0"] * rows, [1.0] * rows)

    def blank(self) -> Tensor:
        return torch.full((1, 1, 1), self.labels.null or 0, device=self.device)

    def arguments(self, embeddings: Tensor) -> dict[str, Tensor]:
        return {"class_labels": embeddings[:, 0, 0]}


class Texts(Nothing):
    """For UNets with cross-attention to the states of a CLIP text encoder."""

    def __init__(self, text_encoder: Any, tokenizer: Any) -> None:
        self.text_encoder, self.tokenizer = text_encoder, tokenizer
        self.networks = (text_encoder,)
        super().__init__()

    def place(self, device: torch.device) -> None:
        super().place(device)
        self.prompts = PromptCache(self._encode)

    def condition(self, prompts: Sequence[str], guidance: Sequence[float]) -> Condition:
        """States of every token. (B, L, C)

        The blank is the empty prompt, so that guidance changes nothing for a row without prompt: it gets 1.
        """
        texts = ["" if scale == 0 else text for text, scale in zip(prompts, guidance, strict=True)]
        states = self.prompts.lookup(texts)
        scales = [1.0 if text == "" else scale for text, scale in zip(texts, guidance, strict=True)]
        return Condition(torch.stack([states[text] for text in texts]), torch.tensor(scales, dtype=torch.float64))

    def blank(self) -> Tensor:
        return self.prompts.lookup([""])[""][None]

    def arguments(self, embeddings: Tensor) -> dict[str, Tensor]:
        return {"encoder_hidden_states": embeddings}

    @torch.no_grad()
    def _encode(self, texts: list[str]) -> Tensor:
        states: Tensor = self.text_encoder(padded_ids(self.tokenizer, texts).to(self.device)).last_hidden_state
        return states
