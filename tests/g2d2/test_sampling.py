"""Drawing z_s: frequencies, exact counts, confidence, truncation."""

import pytest
import torch

from g2d2.methods.g2d2_settings import G2D2Settings
from g2d2.randomness import RowRandom
from g2d2.sampling import LOG_FLOOR, TokenSampler, truncate_top_p
from g2d2.schedule import vq_diffusion_schedule

K, D = 4, 4000
SCHEDULE = vq_diffusion_schedule({"num_vec_classes": K + 1, "num_train_timesteps": 10})


def sampler(markov, **changes):
    random = RowRandom(range(len(markov)), "cpu")
    return TokenSampler(SCHEDULE, G2D2Settings(**changes), markov, random)


def alpha(rows=1, d=D):
    return torch.randn(rows, K, d, generator=torch.Generator().manual_seed(0)).log_softmax(1)


def test_star_masks_unmasked_tokens_with_gamma_bar_and_markov_never_does():
    log_alpha, unmasked = alpha(2), torch.zeros(2, D, dtype=torch.long)
    for s in (3, 7):
        z = sampler([False, True]).draw(log_alpha, unmasked, s, s + 1, step=s)
        gamma_bar = SCHEDULE.between(0, s).gamma
        spread = 4 * (gamma_bar * (1 - gamma_bar) / D) ** 0.5
        assert (z[0] == K).float().mean().item() == pytest.approx(gamma_bar, abs=spread)
        assert not (z[1] == K).any()


def test_star_draws_codes_as_alpha_says():
    log_alpha = torch.tensor([0.1, 0.2, 0.3, 0.4]).log().view(1, K, 1).expand(1, K, D)
    z = sampler([False]).draw(log_alpha, torch.full((1, D), K), 0, 1, step=0)
    shares = torch.bincount(z[0], minlength=K)[:K] / D
    torch.testing.assert_close(shares, torch.tensor([0.1, 0.2, 0.3, 0.4]), atol=0.03, rtol=0)


@pytest.mark.parametrize("remasking", ["exact-count", "posterior-confidence"])
def test_counted_remasking_masks_an_exact_number(remasking):
    z = sampler([False], remasking=remasking).draw(alpha(), torch.full((1, D), K), 6, 7, step=0)
    cumulative = SCHEDULE.between(0, 6)
    assert (z == K).sum().item() == int(D * (cumulative.gamma - cumulative.beta))


def test_confident_tokens_stay():
    log_alpha = alpha()
    z = sampler([False], remasking="posterior-confidence").draw(log_alpha, torch.full((1, D), K), 6, 7, step=0)
    certainty = log_alpha.amax(1)
    assert certainty[z == K].max() <= certainty[z != K].min()


def test_top_p_keeps_the_likeliest_codes_and_always_one():
    probs = torch.tensor([0.5, 0.3, 0.15, 0.05]).log().view(1, 4, 1)
    kept = lambda p: (truncate_top_p(probs, p) > LOG_FLOOR).flatten().tolist()  # noqa: E731
    assert kept(1.0) == [True] * 4
    assert kept(0.79) == [True, True, False, False]
    assert kept(0.81) == [True, True, True, False]
    assert kept(0.01) == [True, False, False, False]


def test_a_rounded_sum_cuts_at_one_where_a_token_is_certain():
    """By float32, 0.9999 + 0.0001 is 1 already: what comes after is cut, as the published code cuts it."""
    certain = torch.tensor([0.9999, 0.0001, 3e-9, 1e-9])
    unsure = torch.tensor([0.4, 0.3, 0.2, 0.1])
    log_probs = torch.stack([certain, unsure], dim=1).log()[None]  # (1, 4, 2)
    kept = truncate_top_p(log_probs, 1.0, rounded=True) > LOG_FLOOR
    assert kept[0].T.tolist() == [[True, True, False, False], [True] * 4]
    assert torch.equal(truncate_top_p(log_probs, 1.0), log_probs)
    for top_p in (0.05, 0.35, 0.65, 0.95):  # away from rounding both rules are one
        assert torch.equal(truncate_top_p(log_probs, top_p, rounded=True), truncate_top_p(log_probs, top_p))


def test_truncated_star_never_draws_what_was_cut():
    log_alpha = torch.tensor([0.01, 0.02, 0.07, 0.9]).log().view(1, K, 1).expand(1, K, D)
    z = sampler([False], remasking="exact-count", top_p=0.95).draw(log_alpha, torch.full((1, D), K), 1, 2, step=0)
    assert set(z.unique().tolist()) <= {2, 3, K}


ACTIVE = torch.arange(D).expand(2, D) < torch.tensor([[D], [D // 4]])
"""The second row is a quarter as long as the first."""


@pytest.mark.parametrize("remasking", ["independent", "exact-count", "posterior-confidence"])
def test_tokens_that_do_not_count_stay_as_they_are(remasking):
    z_t = torch.full((2, D), K)
    for markov in ([False, False], [True, True], [False, True]):
        z = sampler(markov, remasking=remasking).draw(alpha(2), z_t, 3, 4, step=0, active=ACTIVE)
        assert torch.equal(z[~ACTIVE], z_t[~ACTIVE])
        assert (z[ACTIVE] != K).any()


@pytest.mark.parametrize("remasking", ["exact-count", "posterior-confidence"])
def test_every_row_masks_its_own_share_of_what_counts(remasking):
    z = sampler([False, False], remasking=remasking).draw(alpha(2), torch.zeros_like(ACTIVE).long(), 6, 7, 0, ACTIVE)
    cumulative = SCHEDULE.between(0, 6)
    share = cumulative.gamma - cumulative.beta
    assert (z == K).sum(1).tolist() == pytest.approx([D * share, D // 4 * share], abs=1)
    assert not (z == K)[~ACTIVE].any()


@pytest.mark.parametrize("remasking", ["independent", "exact-count", "posterior-confidence"])
def test_where_all_tokens_count_the_draw_is_the_plain_one(remasking):
    draw, z_t = sampler([False, True], remasking=remasking).draw, torch.full((2, D), K)
    log_alpha = alpha(2)
    assert torch.equal(draw(log_alpha, z_t, 5, 6, 1), draw(log_alpha, z_t, 5, 6, 1, torch.ones(2, D, dtype=torch.bool)))


def test_certainty_decides_the_less_the_warmer_it_is():
    log_alpha, masked = alpha(), torch.full((1, D), K)

    def share_of_the_least_certain(temperature):
        changes = {"remasking": "posterior-confidence", "remasking_temperature": temperature}
        z = sampler([False], **changes).draw(log_alpha, masked, 5, 6, step=0)
        least = log_alpha.amax(dim=1)[0].argsort()[: int((z == K).sum())]
        return float((z[0, least] == K).float().mean())

    cold, mild, hot = (share_of_the_least_certain(temperature) for temperature in (0.0, 0.5, 1000.0))
    assert cold == 1 > mild > hot
    assert hot == pytest.approx(SCHEDULE.between(0, 5).gamma, abs=0.05)  # by chance alone
