"""Encoded prompts are kept up to a number of bytes, the last used longest."""

import pytest
import torch

from g2d2.priors import random_prior
from g2d2.priors.prompt_cache import PROMPT_BYTES, PromptCache

STATE = torch.zeros(4, 8).nbytes


class Encoder:
    """Gives every text a state of its own, and notes what it was asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, texts):
        self.asked.append(texts)
        return torch.stack([torch.full((4, 8), float(len(text))) for text in texts])


@pytest.fixture
def encoder():
    return Encoder()


def test_each_prompt_is_encoded_once_while_it_is_kept(encoder):
    cache = PromptCache(encoder)
    cache.lookup(["b", "a", "b"])
    states = cache.lookup(["ccc", "a"])
    assert encoder.asked == [["a", "b"], ["ccc"]]
    assert {text: int(state[0, 0]) for text, state in states.items()} == {"a": 1, "ccc": 3}
    assert len(cache) == 3
    assert cache.bytes == 3 * STATE


def test_the_least_recently_used_is_given_up_first(encoder):
    cache = PromptCache(encoder, limit=2 * STATE)
    cache.lookup(["a"])
    cache.lookup(["b"])
    cache.lookup(["a"])  # b is now the oldest
    cache.lookup(["c"])
    assert cache.bytes == 2 * STATE
    cache.lookup(["a", "c"])
    assert encoder.asked == [["a"], ["b"], ["c"]]
    cache.lookup(["b"])
    assert encoder.asked[-1] == ["b"]


@pytest.mark.parametrize("limit", [0, STATE, 3 * STATE])
def test_a_batch_beyond_the_bound_has_all_its_states(encoder, limit):
    cache = PromptCache(encoder, limit)
    texts = ["x" * length for length in range(1, 8)]
    for _ in range(2):
        states = cache.lookup(texts)
        assert [int(states[text][0, 0]) for text in texts] == list(range(1, 8))
        assert cache.bytes <= limit
        assert cache.bytes == len(cache) * STATE


def test_the_memory_of_a_batch_is_let_go_with_what_is_given_up(encoder):
    """A row that is a view would keep all its batch alive."""
    cache = PromptCache(encoder, limit=STATE)
    cache.lookup(["a", "b", "c"])
    (kept,) = cache._states.values()
    assert kept.untyped_storage().nbytes() == STATE


def test_a_prior_whose_prompts_do_not_fit_answers_as_one_whose_do():
    plain, short = random_prior(), random_prior()
    short._prompts.limit = plain.condition(["a"], [1.0]).embeddings.nbytes  # one prompt
    prompts = ["a", "b", "c", "a", "d"]
    for some in (prompts, prompts[::-1], prompts):
        guidance = [1.0, 2.0, 0.0, 1.0, 3.0]
        expected, got = plain.condition(some, guidance), short.condition(some, guidance)
        torch.testing.assert_close(got.embeddings, expected.embeddings)
        assert len(short._prompts) == 1


def test_the_published_prior_keeps_more_prompts_than_imagenet_has_classes():
    assert PROMPT_BYTES / torch.zeros(77, 512).nbytes > 1000
