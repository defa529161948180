"""What a prior can take, from its configurations and its tokenizer; no network is loaded."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from g2d2.priors.checking import check_folder
from g2d2.priors.layout import WEIGHT_STEMS, read_json, read_shape, weight_files
from operators.errors import InputError

_IMAGE_CHANNELS = 3
"""Where a configuration names none, as diffusers has it."""

_ENDS = 2
"""Tokens that stand around every prompt."""


@dataclass(frozen=True)
class PriorLimits:
    """Images, steps and prompts that a prior takes."""

    folder: Path
    image_shape: tuple[int, int, int]
    train_steps: int
    prompt_tokens: int
    """Of the longest prompt, its start and its end included."""

    def too_long(self, prompts: Iterable[str]) -> dict[str, int]:
        """The prompts that have too many tokens, with their number."""
        doubtful = [text for text in prompts if not self._surely_short(text)]
        if not doubtful:
            return {}
        counts = map(len, self._tokenizer(doubtful, verbose=False).input_ids)
        return {text: count for text, count in zip(doubtful, counts, strict=True) if count > self.prompt_tokens}

    @cached_property
    def _tokenizer(self) -> Any:
        return _tokenizer(self.folder)

    def _surely_short(self, text: str) -> bool:
        """A character of ASCII is at most one token."""
        return text.isascii() and len(text) + _ENDS <= self.prompt_tokens


def read_limits(folder: Path) -> PriorLimits:
    """The limits of the prior in this folder; a folder that could not be loaded is refused as far as files show it."""
    shape = read_shape(folder) if _pickled(folder) else check_folder(folder)
    channels = read_json(folder / "vqvae" / "config.json").get("out_channels", _IMAGE_CHANNELS)
    if not isinstance(channels, int):
        raise InputError(
            f"prior: {folder / 'vqvae' / 'config.json'} has out_channels {channels!r}: it must be a number."
        )
    tokens = read_json(folder / "tokenizer" / "tokenizer_config.json").get("model_max_length")
    if not isinstance(tokens, int):
        tokens = _tokenizer(folder).model_max_length
    return PriorLimits(folder, (channels, *shape.image_size), shape.train_steps, int(tokens))


def _pickled(folder: Path) -> bool:
    """Whether weights would have to be read whole to be checked, as those of safetensors need not."""
    return any(path.suffix == ".bin" for name in WEIGHT_STEMS for path in weight_files(folder, name))


def _tokenizer(folder: Path) -> Any:
    from g2d2.priors.loading import load_component  # model libraries, which most prompts do without

    return load_component(folder, "tokenizer")
