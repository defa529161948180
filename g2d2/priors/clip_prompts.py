"""Prompts through a CLIP text encoder, and the limits of its tokenizer, which are known without the encoder."""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from g2d2.priors.json_files import read_json
from operators.errors import InputError
from operators.validation import shorten

TOKENIZER_FILES = (("tokenizer.json",), ("vocab.json", "merges.txt"))
"""Either the fast tokenizer's one file or CLIP's original pair."""
_WORD_END = "</w>"
_OWN = 10_000
"""Tokens up to which a vocabulary is one of a data set's prompts; CLIP's has 49408."""


def require_tokenizer(folder: Path) -> None:
    """Refuse a prior's folder whose tokenizer lacks a file."""
    component = folder / "tokenizer"
    if not any(all((component / file).is_file() for file in files) for files in TOKENIZER_FILES):
        wanted = " or ".join(" and ".join(files) for files in TOKENIZER_FILES)
        raise InputError(f"prior: component 'tokenizer' is incomplete: {component} has no {wanted}.")


def check_tokenizer(folder: Path, tokenizer: Any, text: Any) -> None:
    """Its tokens are those of the text encoder, which would else be asked for rows that it does not have."""
    limit, positions = tokenizer.model_max_length, text.max_position_embeddings
    if not isinstance(limit, int) or not 1 <= limit <= positions:
        raise InputError(
            f"prior: {folder / 'tokenizer' / 'tokenizer_config.json'} has model_max_length {shorten(limit)}; it must "
            f"be a whole number up to {positions}, the text encoder's max_position_embeddings."
        )
    if len(tokenizer) > text.vocab_size:
        raise InputError(
            f"prior: the tokenizer in {folder / 'tokenizer'} has {len(tokenizer)} tokens, and the text encoder knows "
            f"{text.vocab_size}; they do not belong together."
        )


def unknown_words(folder: Path, prompt: str) -> list[str]:
    """Words that a prior with a vocabulary learnt from its own prompts never saw whole, so that it spells them.

    Empty for a vocabulary of the whole language, such as CLIP's, which also spells words that it knows.
    """
    file = folder / "tokenizer" / "vocab.json"
    vocabulary = read_json(file) if file.is_file() else {}
    whole = {token.removesuffix(_WORD_END) for token in vocabulary if token.endswith(_WORD_END)}
    if len(vocabulary) > _OWN or not any(len(word) > 2 and word.isalpha() and word.isascii() for word in whole):
        return []
    return [word for word in dict.fromkeys(re.findall(r"[^\W\d_]+", prompt.lower())) if word not in whole]


class TokenCounter:
    """Counts the tokens of prompts with a prior's tokenizer, which is loaded at the first call."""

    def __init__(self, folder: Path, load: Callable[[Path, str], Any]) -> None:
        self.folder, self.load = folder, load

    def __call__(self, prompts: Sequence[str]) -> list[int]:
        return [len(ids) for ids in self.tokenizer(list(prompts), verbose=False).input_ids]

    @cached_property
    def tokenizer(self) -> Any:
        return self.load(self.folder, "tokenizer")

    @property
    def limit(self) -> int:
        """Tokens of the longest prompt, from the configuration where it says so."""
        tokens = read_json(self.folder / "tokenizer" / "tokenizer_config.json").get("model_max_length")
        tokens = tokens if isinstance(tokens, int) else self.tokenizer.model_max_length
        if not isinstance(tokens, int):
            file = self.folder / "tokenizer" / "tokenizer_config.json"
            raise InputError(f"prior: {file} has model_max_length {shorten(tokens)}: it must be a whole number.")
        return tokens


def padded_ids(tokenizer: Any, texts: list[str]) -> Any:
    """Token ids of texts, all of the longest length; a text with more tokens is refused, not cut. (B, L)"""
    limit = tokenizer.model_max_length
    for text, ids in zip(texts, tokenizer(texts).input_ids, strict=True):
        if len(ids) > limit:
            raise InputError(f"prompt: {text[:60]!r} has {len(ids)} tokens; this prior's tokenizer allows {limit}.")
    return tokenizer(texts, padding="max_length", max_length=limit, return_tensors="pt").input_ids
