"""Draws belong to the row's coordinates alone, and look random."""

import math

import pytest
import torch
from scipy import stats

from g2d2.randomness import RowRandom


def test_a_row_draws_the_same_alone_in_a_batch_and_in_another_order():
    batch = RowRandom([5, 6, 7], "cpu").gumbel("relaxation", (4, 9), step=2, iteration=3)
    turned = RowRandom([7, 5, 6], "cpu").gumbel("relaxation", (4, 9), step=2, iteration=3)
    assert torch.equal(batch[[2, 0, 1]], turned)
    assert torch.equal(RowRandom([6], "cpu").gumbel("relaxation", (4, 9), step=2, iteration=3)[0], batch[1])


def test_earlier_draws_never_change_later_ones():
    quiet, busy = RowRandom([1], "cpu"), RowRandom([1], "cpu")
    busy.uniform("anything", (100,))
    assert torch.equal(quiet.uniform("tokens", (10,), 1), busy.uniform("tokens", (10,), 1))


def test_every_coordinate_matters():
    draws = [
        RowRandom([seed], "cpu").uniform(stream, (1000,), step, iteration)
        for seed, stream, step, iteration in [
            (1, "a", 0, 0),
            (2, "a", 0, 0),
            (1, "b", 0, 0),
            (1, "a", 1, 0),
            (1, "a", 0, 1),
        ]
    ]
    correlation = torch.corrcoef(torch.cat(draws)).fill_diagonal_(0.0).abs().max()
    assert correlation < 4.5 / math.sqrt(1000)


def test_values_are_pinned():
    """Stored results depend on these numbers: changing them means raising SOLVER_VERSION."""
    draw = RowRandom([0, 2**40], "cpu", torch.float64).uniform("tokens", (3,), step=4, iteration=2)
    torch.testing.assert_close(draw, torch.tensor(PINNED, dtype=torch.float64), rtol=0, atol=1e-9)


PINNED = [[0.1994565579, 0.6369372744, 0.9806639717], [0.3278444505, 0.8255680159, 0.2111589282]]


@pytest.mark.parametrize("seed", range(3))
def test_uniform_and_gumbel_have_their_distributions(seed):
    random = RowRandom([seed], "cpu")
    uniform = random.uniform("u", (200_000,)).double()
    assert stats.kstest(uniform[0].numpy(), "uniform").pvalue > 1e-3
    assert stats.kstest(random.gumbel("g", (200_000,))[0].double().numpy(), "gumbel_r").pvalue > 1e-3
    normal = random.normal("n", (200_001,))[0].double()  # an odd number: one of the last pair is left over
    assert stats.kstest(normal.numpy(), "norm").pvalue > 1e-3
    cosines, sines = normal[:100_000], normal[100_001:]
    assert abs((cosines * sines).mean()) < 4.5 / math.sqrt(100_000)
    assert abs((cosines.square() * sines.square()).mean() - 1) < 4.5 * math.sqrt(8 / 100_000)


def test_normal_rows_are_their_own_and_finite():
    batch = RowRandom([5, 6, 7], "cpu").normal("step", (3, 5), step=2, iteration=3)
    assert torch.equal(RowRandom([6], "cpu").normal("step", (3, 5), step=2, iteration=3)[0], batch[1])
    many = RowRandom(range(64), "cpu").normal("n", (65536,))
    assert many.isfinite().all()
    assert 5 < many.abs().max() < 6.8


def test_neighbouring_numbers_rows_and_seeds_are_uncorrelated():
    draws = RowRandom(range(200), "cpu").uniform("u", (4096,)).double() - 0.5
    for lag in (1, 2, 64):
        score = (draws[:, :-lag] * draws[:, lag:]).mean(1) * 12 * math.sqrt(4096 - lag)
        assert abs(score.mean()) * math.sqrt(200) < 4
        assert 0.8 < score.std() < 1.2
    across = (draws[:-1] * draws[1:]).mean(1) * 12 * math.sqrt(4096)
    assert abs(across.mean()) * math.sqrt(199) < 4


def test_extremes_stay_finite():
    gumbel = RowRandom(range(64), "cpu").gumbel("g", (65536,))
    assert gumbel.isfinite().all()
    assert gumbel.max() > 14
