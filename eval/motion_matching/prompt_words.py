"""Prompts as the words that say what is done: lower-case stems without the frame `a person is`."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

_SILENT = {"a", "an", "the", "person", "someone", "is", "does", "doing", "and", "then", "of", "his", "her", "their"}
_ENDINGS = ("ing", "ies", "es", "ed", "s", "e", "y")
_SHORTEST = 3
"""Letters that must be left of a word without its ending."""


def prompt_words(prompt: str) -> tuple[str, ...]:
    """Stems of a prompt's words, each once and in the order of the alphabet."""
    return tuple(sorted({_stem(word) for word in re.findall("[a-z]+", prompt.lower()) if word not in _SILENT}))


def vocabulary(prompts: Iterable[Sequence[str]], common: int = 2) -> tuple[str, ...]:
    """Stems that at least `common` clips have, in the order of the alphabet; each clip comes with all its wordings."""
    counts = Counter(word for wordings in prompts for word in {stem for one in wordings for stem in prompt_words(one)})
    return tuple(sorted(word for word, count in counts.items() if count >= common))


def _stem(word: str) -> str:
    """`walks`, `walked` and `walking` as `walk`, `runs` and `running` as `run`; rough, but the same for all prompts."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST and not word.endswith("ss"):
            word = word.removesuffix(ending)
            break
    doubled = len(word) > _SHORTEST and word[-1] == word[-2] and word[-1] not in "lsz"
    return word[:-1] if doubled else word
