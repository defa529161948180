"""Retrieval, spread and distance of embeddings, on sets with known answers and against a slow re-computation."""

import math

import numpy as np
import pytest

from eval.distribution.motion_names import KINDS, set_names
from eval.distribution.motion_sets import score_motion_set
from eval.embedding_sets import EmbeddedSet, diversity, matching_score, r_precision, repeated, set_frechet, set_score
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
            ranked = sorted(group, key=lambda other: math.dist(texts[own], motions[other]))
            hits += own in ranked[:3]
    assert r_precision(texts, motions, seed=7) == hits / 96


def test_motions_are_ranked_for_each_text_as_published():
    """Both texts have their own motion nearest; the second motion has the first text nearest."""
    texts, motions = np.array([[0.0], [3.0]]), np.array([[1.0], [1.4]])
    assert r_precision(texts, motions, top=1, group=2) == 1.0
    assert r_precision(motions, texts, top=1, group=2) == 0.5


def test_a_motion_of_the_same_words_is_no_rival():
    """The first two texts are one, rounded otherwise, and the second motion is nearest to both."""
    texts, motions = np.array([[1.0, 0.0], [1.0, 1e-7], [5.0, 0.0]]), np.array([[2.0, 0.0], [1.5, 0.0], [4.5, 0.0]])
    assert r_precision(texts, motions, top=1, group=3) == 1.0
    other = texts + np.array([[0.0, 0.0], [0.0, 0.01], [0.0, 0.0]])
    assert r_precision(other, motions, top=1, group=3) == pytest.approx(2 / 3)


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


def test_only_one_evaluator_has_an_fid():
    assert set_names("t2m")["frechet"] == "fid_t2m"
    assert not any("fid" in name for name in set_names("cmu").values())
    assert set(set_names("cmu").values()) == {
        "frechet_cmu", "r_precision_cmu_top1", "r_precision_cmu_top2", "r_precision_cmu_top3", "matching_score_cmu",
        "diversity_cmu",
    }  # fmt: skip


def noisy_pairs(count, seed=3):
    random = np.random.default_rng(seed)
    texts = random.normal(size=(count, 6))
    return EmbeddedSet(texts + random.normal(size=(count, 6)), texts, np.arange(count))


def test_every_number_of_a_set_against_plain_loops():
    own, real = noisy_pairs(96), noisy_pairs(96, seed=4)
    scores = {kind: set_score(kind, "cmu", own, real.motions, repeats=4, seed=5) for kind in KINDS}
    assert scores["matching_score"].mean == pytest.approx(np.mean([*map(math.dist, own.motions, own.texts)]))
    for top in (1, 2, 3):
        hits = 0
        for seed in range(5, 9):
            for group in np.split(np.random.default_rng(seed).permutation(96), 3):
                for one in group:
                    ranked = sorted(group, key=lambda other: math.dist(own.texts[one], own.motions[other]))
                    hits += one in ranked[:top]
        assert scores[f"r_precision_top{top}"].mean == pytest.approx(hits / (4 * 96))
    means, spreads = zip(*((x.mean(0), np.cov(x.T)) for x in (real.motions, own.motions)), strict=True)
    product = np.linalg.eigvals(spreads[0] @ spreads[1])
    expected = ((means[0] - means[1]) ** 2).sum() + np.trace(spreads[0] + spreads[1]) - 2 * np.sqrt(product.real).sum()
    assert scores["frechet"].mean == pytest.approx(expected)
    assert scores["diversity"].repeats == 4


def test_a_set_has_the_real_ones_number_beside_it_and_leaves_broken_rows_out():
    own, real = noisy_pairs(40), EmbeddedSet(np.eye(40), np.eye(40), np.arange(40))
    broken = EmbeddedSet(own.motions.copy(), own.texts, own.told)
    broken.motions[7] = np.nan
    result = score_motion_set("r_precision_cmu_top3", broken, real)
    assert (result.count_images, result.left_out_images, result.of_truth) == (39, 1, 1.0)
    kept = np.delete(np.arange(40), 7)
    alone = set_score(
        "r_precision_top3", "cmu", EmbeddedSet(own.motions[kept], own.texts[kept], np.arange(39)), own.motions
    )
    assert result.value == alone.mean
    assert result.interval == alone.interval


def test_published_diversity_has_its_three_hundred_pairs():
    own = noisy_pairs(40)
    assert "at least 300" in score_motion_set("diversity_t2m", own, own).unavailable
    assert score_motion_set("diversity_cmu", own, own).value > 0
    assert "at least 32" in score_motion_set("r_precision_cmu_top1", noisy_pairs(31), own).unavailable
    untold = EmbeddedSet(own.motions, own.texts[:0], own.told[:0])
    assert "0 pairs of text and motion" in score_motion_set("matching_score_cmu", untold, own).unavailable


def test_the_matching_score_of_known_distances():
    assert matching_score(np.zeros((2, 2)), np.array([[3.0, 4.0], [0.0, 1.0]])) == 3.0


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
