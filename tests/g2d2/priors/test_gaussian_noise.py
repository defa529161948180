"""The noise of continuous priors: as diffusers' schedulers have it, and closed forms of what a network predicts."""

import json

import pytest
import torch

from g2d2.priors.gaussian_noise import SCHEDULERS, GaussianNoise, read_noise
from operators import InputError


def described(tmp_path, **config):
    path = tmp_path / "scheduler_config.json"
    path.write_text(json.dumps(config))
    return path


def stock(name, **config):
    import diffusers

    return getattr(diffusers, name)(**config)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_the_schedule_is_that_of_every_scheduler_with_its_defaults(tmp_path, name):
    noise = read_noise(described(tmp_path, _class_name=name))
    assert noise.alpha_bar.dtype == torch.float64
    expected = stock(name).alphas_cumprod.double()
    torch.testing.assert_close(noise.alpha_bar, expected, rtol=1e-4, atol=1e-8)
    assert (noise.prediction, noise.learned) == ("epsilon", False)


@pytest.mark.parametrize(
    "config",
    [
        {"beta_schedule": "linear", "beta_end": 0.01},
        {"beta_schedule": "scaled_linear", "beta_start": 0.00085, "beta_end": 0.012},
        {"beta_schedule": "squaredcos_cap_v2", "num_train_timesteps": 400},
        {"beta_schedule": "sigmoid", "beta_start": 1e-4, "beta_end": 0.03},
        {"trained_betas": [0.1, 0.2, 0.3], "num_train_timesteps": 3},
        {"beta_schedule": "scaled_linear", "rescale_betas_zero_snr": True, "prediction_type": "v_prediction"},
    ],
)
def test_every_schedule_of_betas_is_that_of_diffusers(tmp_path, config):
    noise = read_noise(described(tmp_path, **config))
    expected = stock("DDPMScheduler", **config).alphas_cumprod.double()
    torch.testing.assert_close(noise.alpha_bar, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"_class_name": "FlowMatchEulerDiscreteScheduler"},
            "has _class_name 'FlowMatch.*known are DDPMScheduler",
        ),
        ({"prediction_type": "flow"}, "has prediction_type 'flow'; known are epsilon, v_prediction, sample"),
        ({"beta_schedule": "liner"}, "did you mean 'linear'"),
        ({"variance_type": 3}, "has variance_type 3"),
        ({"num_train_timesteps": 0}, "num_train_timesteps 0: it must be a whole number"),
        ({"num_train_timesteps": True}, "num_train_timesteps True: it must be a whole number"),
        ({"beta_start": "a"}, "has beta_start 'a': it must be a number"),
        ({"beta_end": 2}, "describes betas from 0.0001 to 2; each must be in"),
        ({"trained_betas": [0.1]}, "trained_betas that are not 1000 numbers"),
        ({"rescale_betas_zero_snr": True}, "this needs prediction_type v_prediction or sample"),
    ],
)
def test_what_is_no_known_noise_is_one_sentence(tmp_path, config, message):
    with pytest.raises(InputError, match=message) as error:
        read_noise(described(tmp_path, **config))
    assert "\n" not in str(error.value)


@pytest.fixture
def levels():
    return (1 - torch.linspace(0.01, 0.3, 12, dtype=torch.float64)).cumprod(0)


@pytest.mark.parametrize("prediction", ["epsilon", "v_prediction", "sample"])
@pytest.mark.parametrize("t", [0, 5, 11])
def test_a_network_that_is_right_gives_back_image_and_noise(levels, prediction, t):
    generator = torch.Generator().manual_seed(0)
    x0, eps = (torch.randn(3, 2, 4, 4, generator=generator, dtype=torch.float64) for _ in range(2))
    signal, spread = levels[t].sqrt(), (1 - levels[t]).sqrt()
    output = {"epsilon": eps, "sample": x0, "v_prediction": signal * eps - spread * x0}[prediction]
    denoised = GaussianNoise(levels, prediction).denoised(output, signal * x0 + spread * eps, t)
    torch.testing.assert_close(denoised.x0, x0)
    torch.testing.assert_close(denoised.eps, eps)
    assert denoised.log_variance is None


@pytest.mark.parametrize("variance", ["learned", "learned_range"])
def test_a_learned_variance_is_split_off_and_read_as_diffusers_does(tmp_path, variance):
    steps = 12
    config = {"num_train_timesteps": steps, "beta_end": 0.3, "variance_type": variance}
    noise, scheduler = read_noise(described(tmp_path, **config)), stock("DDPMScheduler", **config)
    scheduler.set_timesteps(steps)
    generator = torch.Generator().manual_seed(0)
    z, output = torch.randn(2, 3, 4, 4, generator=generator), torch.rand(2, 6, 4, 4, generator=generator)
    for t in range(1, steps):
        denoised = noise.denoised(output, z, t)
        torch.testing.assert_close(denoised.eps, output[:, :3])
        expected = scheduler._get_variance(t, predicted_variance=output[:, 3:])
        expected = expected.log() if variance == "learned" else expected
        torch.testing.assert_close(denoised.log_variance, expected, rtol=1e-4, atol=1e-4)
    assert noise.denoised(output, z, 0).log_variance.isfinite().all()


def test_a_schedule_of_one_step_has_a_variance_too():
    noise = GaussianNoise(torch.tensor([0.5], dtype=torch.float64), variance="learned_range")
    assert noise.denoised(torch.zeros(1, 2, 1, 1), torch.zeros(1, 1, 1, 1), 0).log_variance.isfinite().all()
