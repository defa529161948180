"""Words of a prompt that a prior with a vocabulary of its own was not trained on."""

import json
from pathlib import Path

import pytest

import g2d2.priors
from g2d2.priors.clip_prompts import unknown_words

EMBEDDED = Path(g2d2.priors.__file__).parent / "embedded"


@pytest.mark.parametrize(
    ("prompt", "unknown"),
    [
        ("a person walks", []),
        ("A Person WALKS, fast!", []),
        ("", []),
        ("a person juggles chainsaws and juggles", ["juggles", "chainsaws"]),
        ("ein Mensch läuft", ["ein", "mensch", "läuft"]),
        ("一个人走路", ["一个人走路"]),
    ],
)
def test_of_motions(prompt, unknown):
    assert unknown_words(EMBEDDED / "cmu-motion", prompt) == unknown


def test_of_pictures():
    assert unknown_words(EMBEDDED / "cifar10-vq", "a photo of a frog") == []
    assert unknown_words(EMBEDDED / "cifar10-vq", "a photo of a zebra") == ["zebra"]


def test_a_vocabulary_of_the_whole_language_or_of_letters_says_nothing(tmp_path):
    assert unknown_words(tmp_path, "anything") == []
    (tmp_path / "tokenizer").mkdir()
    for vocabulary in ({"a</w>": 0, "b</w>": 1}, {"walk</w>": 0} | {f"t{n}": n for n in range(1, 20_000)}):
        (tmp_path / "tokenizer" / "vocab.json").write_text(json.dumps(vocabulary))
        assert unknown_words(tmp_path, "juggle") == []
