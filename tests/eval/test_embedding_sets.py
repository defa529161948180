"""Retrieval, spread and distance of embeddings, on sets with known answers and against a slow re-computation."""

import math

import numpy as np
import pytest

from eval.embedding_sets import diversity, r_precision, repeated, set_frechet, set_names
from operators import InputError


def test_retrieval_where_every_text_is_nearest_to_its_motion():
    motions = np.eye(64)
    assert r_precision(motions, motions) == 1.0
    assert r_precision(motions, motions, top=1) == 1.0


def test_retrieval_by_chance_is_three_in_32():
    random = np.random.default_rng(0)
    values = [r_precision(random.normal(size=(320, 4)), random.normal(size=(320, 4)), seed=seed) for seed in range(20)]
    assert np.mean(values) == pytest.approx(3 / 32, abs=0.02)


def test_retrieval_against_a_slow_computation():
    random = np.random.default_rng(1)
    texts = random.normal(size=(100, 6))
    motions = texts + random.normal(size=(100, 6))
    order = np.random.default_rng(7).permutation(100)
    hits = 0
    for start in (0, 32, 64):
        group = order[start : start + 32]
        for own in group:
            ranked = sorted(group, key=lambda other: math.dist(motions[own], texts[other]))
            hits += own in ranked[:3]
    assert r_precision(texts, motions, seed=7) == hits / 96


def test_the_composition_of_groups_changes_the_value_and_the_seed_fixes_it():
    random = np.random.default_rng(1)
    texts = random.normal(size=(128, 6))
    motions = texts + random.normal(size=(128, 6))
    assert r_precision(texts, motions, seed=1) == r_precision(texts, motions, seed=1)
    assert len({r_precision(texts, motions, seed=seed) for seed in range(10)}) > 1


def test_diversity_of_two_points():
    """Pairs are a zero or a two apart, half of them each."""
    motions = np.array([[0.0, 0.0], [2.0, 0.0]] * 5000)
    values = [diversity(motions, seed=seed) for seed in range(20)]
    assert np.mean(values) == pytest.approx(1.0, abs=0.05)
    assert diversity(np.ones((300, 4))) == 0.0


def test_the_distance_of_shifted_sets_is_the_shift_squared():
    real = np.random.default_rng(0).normal(size=(500, 8))
    assert set_frechet(real, real + 0.5) == pytest.approx(8 * 0.25)
    assert set_frechet(real, real) == pytest.approx(0.0, abs=1e-9)


def test_repeats_have_an_interval():
    score = repeated("x", lambda seed: float(seed), 20)
    assert score.mean == 9.5
    assert score.interval == pytest.approx(1.96 * np.std(range(20), ddof=1) / math.sqrt(20))
    assert repeated("x", float, 1, seed=3).interval is None


def test_only_one_evaluator_carries_the_published_names():
    assert set(set_names("t2m").values()) == {"fid", "r_precision", "diversity"}
    assert set(set_names("cmu").values()) == {"frechet_cmu", "r_precision_cmu", "diversity_cmu"}


def test_too_few_and_bad_embeddings():
    with pytest.raises(InputError, match="there are 31 pairs of text and motion: at least 32"):
        r_precision(np.eye(31), np.eye(31))
    with pytest.raises(InputError, match="there are 299 motions: at least 300"):
        diversity(np.zeros((299, 2)))
    with pytest.raises(InputError, match=r"texts are \(40, 3\) and of motions \(40, 4\)"):
        r_precision(np.zeros((40, 3)), np.zeros((40, 4)))
    with pytest.raises(InputError, match="NaN or infinite"):
        diversity(np.full((300, 2), np.nan))
    with pytest.raises(InputError, match=r"must be \(N, E\)"):
        diversity(np.zeros(300))
