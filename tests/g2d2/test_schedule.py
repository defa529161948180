"""Schedules against products of explicit transition matrices and against diffusers."""

import math

import pytest
import torch
from diffusers import VQDiffusionScheduler

from g2d2.schedule import (
    MASK_SCHEDULES,
    NOMINAL_STEPS,
    NoiseSchedule,
    cosine_mask_schedule,
    vq_diffusion_schedule,
)
from operators import InputError

CONFIG = {"num_vec_classes": 5, "num_train_timesteps": 6}


def matrix(schedule: NoiseSchedule, s: int, t: int) -> torch.Tensor:
    """Q_{t|s} with columns from z_s and rows to z_t, mask last, as the paper draws it."""
    alpha, beta, gamma = schedule.between(s, t)
    size = schedule.num_codes + 1
    q = torch.full((size, size), beta, dtype=torch.float64)
    q += alpha * torch.eye(size, dtype=torch.float64)
    q[-1, :], q[:, -1] = gamma, 0.0
    q[-1, -1] = 1.0
    return q


@pytest.mark.parametrize("schedule", [vq_diffusion_schedule(CONFIG), cosine_mask_schedule(6, 4)])
def test_cumulative_transition_is_the_product_of_single_steps(schedule):
    product = torch.eye(schedule.num_codes + 1, dtype=torch.float64)
    for t in range(1, schedule.train_steps + 1):
        product = matrix(schedule, t - 1, t) @ product
        torch.testing.assert_close(matrix(schedule, 0, t), product, rtol=1e-10, atol=1e-12)
        for s in range(t):
            composed = matrix(schedule, s, t) @ matrix(schedule, 0, s)
            torch.testing.assert_close(composed, product, rtol=1e-10, atol=1e-12)


def test_columns_sum_to_one_with_k_and_fall_short_with_k_plus_one():
    schedule = vq_diffusion_schedule(CONFIG)
    torch.testing.assert_close(matrix(schedule, 0, 3).sum(0), torch.ones(5, dtype=torch.float64))
    short = matrix(schedule.with_beta("K+1"), 0, 3).sum(0)
    assert (short[:-1] < 1).all()
    torch.testing.assert_close(short, torch.ones(5, dtype=torch.float64), atol=1e-4, rtol=0)


def test_same_numbers_as_diffusers():
    scheduler = VQDiffusionScheduler(num_vec_classes=33, num_train_timesteps=20)
    schedule = vq_diffusion_schedule(scheduler.config)
    for t in range(1, 21):
        cumulative, single = schedule.between(0, t), schedule.between(t - 1, t)
        expected = [scheduler.log_cumprod_at, scheduler.log_cumprod_bt, scheduler.log_cumprod_ct]
        torch.testing.assert_close(
            torch.tensor(cumulative).log(), torch.stack([log[t - 1] for log in expected]), rtol=1e-3, atol=1e-6
        )
        expected = [scheduler.log_at, scheduler.log_bt, scheduler.log_ct]
        torch.testing.assert_close(
            torch.tensor(single).log(), torch.stack([log[t - 1] for log in expected]), rtol=1e-3, atol=1e-6
        )


def test_cosine_schedule_masks_everything_at_the_end_and_half_at_a_third():
    schedule = cosine_mask_schedule(30, 8)
    assert schedule.between(0, 30).gamma == 1.0
    assert schedule.between(0, 10).gamma == pytest.approx(0.5)
    assert schedule.between(0, 10).beta == 0.0


def test_mask_schedules_are_those_of_amused_at_any_number_of_steps():
    """Its scheduler masks a share of cos(pi/2 (i + 1)/n), or 1 - (i + 1)/n, after step i of n."""
    shares = {"cosine": lambda part: math.cos(math.pi / 2 * part), "linear": lambda part: 1 - part}
    for name, share in shares.items():
        schedule = MASK_SCHEDULES[name](NOMINAL_STEPS, 8)
        for steps in (12, 25, 100):
            levels = schedule.levels(steps)
            for i, level in enumerate(levels[1:]):
                assert schedule.between(0, level).gamma == pytest.approx(share((i + 1) / steps), abs=1e-3)


@pytest.mark.parametrize(("steps", "levels"), [(6, [6, 5, 4, 3, 2, 1, 0]), (3, [6, 4, 2, 0]), (1, [6, 0])])
def test_levels_are_evenly_spaced(steps, levels):
    assert vq_diffusion_schedule(CONFIG).levels(steps) == levels


def test_one_level_asks_just_above_where_each_step_ends():
    """The published code's timesteps for 20 of 100 steps: 95, 90, ..., 0, each the level above it."""
    schedule = vq_diffusion_schedule({"num_vec_classes": 5, "num_train_timesteps": 100})
    one_level = schedule.transitions(20, "one-level")
    assert [t - 1 for t, _ in one_level] == list(range(95, -1, -5))
    assert [s for _, s in one_level] == [s for _, s in schedule.transitions(20)] == schedule.levels(20)[1:]
    assert schedule.transitions(100, "one-level") == schedule.transitions(100)


@pytest.mark.parametrize("steps", [0, 7])
def test_more_steps_than_trained_are_refused(steps):
    with pytest.raises(InputError, match=f"steps: {steps} is not between 1 and the prior's 6 training steps"):
        vq_diffusion_schedule(CONFIG).levels(steps)


def test_a_broken_schedule_is_refused():
    with pytest.raises(InputError, match="alpha_bar must start at 1"):
        NoiseSchedule(torch.tensor([1.0, 0.9]), torch.tensor([0.0, 0.3]), 4)
