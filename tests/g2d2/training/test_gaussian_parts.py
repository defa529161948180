"""Noise process, denoising measurements and baselines of the continuous priors, each alone."""

import pytest
import torch
from diffusers import DDPMScheduler

from g2d2.training.gaussian.classical import classical_denoisers
from g2d2.training.gaussian.denoising import denoise_at, mean_decibels, noisy_at
from g2d2.training.gaussian.gaussian_cards import where_behind
from g2d2.training.gaussian.normal_model import NormalModel
from g2d2.training.gaussian.unet_settings import UNetSettings
from g2d2.training.gaussian.unet_stage import build_unet
from g2d2.training.gaussian.vp_noise import (
    build_scheduler,
    deterministic,
    estimate,
    matching_timestep,
    skewed_timesteps,
)


@pytest.mark.parametrize("prediction", ["epsilon", "v_prediction", "sample"])
def test_the_true_output_gives_back_the_clean_image(prediction: str) -> None:
    scheduler = DDPMScheduler.from_config(build_scheduler(clip=True).config, prediction_type=prediction)
    generator = torch.Generator().manual_seed(0)
    x_0, noise = (torch.randn(3, 2, 4, 4, generator=generator) for _ in range(2))
    t = torch.tensor([0, 300, 900])
    outputs = {"epsilon": noise, "v_prediction": scheduler.get_velocity(x_0, noise, t), "sample": x_0}
    x_t = scheduler.add_noise(x_0, noise, t)
    assert torch.allclose(estimate(scheduler, outputs[prediction], x_t, t), x_0, atol=1e-3)


def test_matching_timestep_has_the_asked_noise() -> None:
    scheduler = build_scheduler(clip=True)
    for sigma in (0.1, 0.4, 1.0, 5.0):
        ab = scheduler.alphas_cumprod[matching_timestep(scheduler, sigma)].item()
        assert ((1 - ab) / ab) ** 0.5 == pytest.approx(sigma, rel=0.02)


def test_both_schedulers_have_one_noise_process() -> None:
    scheduler = build_scheduler(clip=False)
    assert torch.equal(deterministic(scheduler).alphas_cumprod, scheduler.alphas_cumprod)
    assert deterministic(scheduler).config.prediction_type == "v_prediction"


def test_skew_prefers_low_noise_and_covers_all_of_it() -> None:
    generator = torch.Generator().manual_seed(0)
    even, skewed = (skewed_timesteps(1000, skew, generator) for skew in (1.0, 2.0))
    assert (even // 10).tolist() == [n // 10 for n in range(1000)]
    assert (skewed < 250).float().mean() == pytest.approx(0.5, abs=0.01)
    assert skewed.max() > 990


def test_attention_is_where_the_settings_say() -> None:
    unet = build_unet(UNetSettings(channels=(4, 8, 8), attention_levels=1, head_dim=4, groups=2), 8, 3)
    assert unet.config.down_block_types == ("DownBlock2D", "DownBlock2D", "AttnDownBlock2D")
    assert unet.config.up_block_types == ("AttnUpBlock2D", "UpBlock2D", "UpBlock2D")
    assert unet(torch.randn(2, 3, 8, 8), torch.tensor([1, 2])).sample.abs().max() == 0


def test_a_network_that_says_nothing_shrinks_the_noisy_image() -> None:
    """v = 0 means x_0 = sqrt(ab) x_t, that is (x_0 + sigma n) / (1 + sigma^2)."""
    unet = build_unet(UNetSettings(channels=(4, 8), attention_levels=1, head_dim=4, groups=2), 8, 3)
    truth = torch.rand(5, 3, 8, 8) * 2 - 1
    estimates = denoise_at(unet, build_scheduler(clip=True), truth, 0.5, batch=2)
    assert torch.allclose(estimates, noisy_at(truth, 0.5) / 1.25, atol=0.02)


def test_noise_is_the_same_for_every_method_and_decibels_are_psnr() -> None:
    truth = torch.zeros(4, 3, 16, 16)
    assert torch.equal(noisy_at(truth, 0.2), noisy_at(truth, 0.2))
    assert mean_decibels(noisy_at(truth, 0.2), truth, 2.0) == pytest.approx(20.0, abs=0.3)


def test_normal_model_is_the_posterior_mean() -> None:
    generator = torch.Generator().manual_seed(0)
    mixing = torch.tensor([[2.0, 0.0], [1.0, 0.5]])
    data = torch.randn(200_000, 2, generator=generator) @ mixing.T + 1.0
    covariance = mixing @ mixing.T
    noisy = torch.tensor([[3.0, -1.0], [0.0, 0.0]])
    expected = 1 + (noisy - 1) @ torch.linalg.solve(covariance + 0.49 * torch.eye(2), covariance)
    assert torch.allclose(NormalModel(data).denoise(noisy, 0.7), expected, atol=0.03)


def test_total_variation_removes_noise() -> None:
    pytest.importorskip("skimage")
    truth = torch.zeros(2, 3, 16, 16)
    truth[..., 8:] = 0.8
    noisy = noisy_at(truth, 0.4)
    estimates = classical_denoisers()["tv"](noisy, truth, 0.4)
    assert mean_decibels(estimates, truth, 2.0) > mean_decibels(noisy, truth, 2.0) + 5


def test_denoisers_that_are_not_installed_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "bm3d", None)
    assert "bm3d" not in classical_denoisers()


def test_a_card_says_where_the_prior_is_not_the_best() -> None:
    level = {"noisy": 20.0, "prior": 27.0, "tv": 25.0, "bm3d": 26.0}
    everywhere = {"0.1": level, "0.8": level}
    assert where_behind(everywhere, ["tv", "bm3d"]) == "The prior is above each of them at every noise level."
    once = everywhere | {"0.8": level | {"bm3d": 27.5}}
    assert where_behind(once, ["tv", "bm3d"]) == "The prior is below BM3D by 0.50 dB at 0.8."
    both = {"0.1": level | {"tv": 27.0}, "0.8": level | {"bm3d": 27.25}}
    said = "The prior is below total variation by 0.00 dB at 0.1; below BM3D by 0.25 dB at 0.8."
    assert where_behind(both, ["tv", "bm3d"]) == said
    assert "No other denoiser was installed" in where_behind(everywhere, [])
