"""What every per-image metric promises: rows stand alone, bad rows spoil only themselves, bad input is one sentence."""

import math

import numpy as np
import pytest
import torch

from eval.metrics import Scored, build_metric, metric_info, metric_names, row_problems, score
from eval.weights import find_weights
from operators import InputError, build_operator, measure, stack_operators

BACKBONES = {"lpips_vgg": "vgg16", "lpips_alex": "alexnet"}


def build(name):
    if name in BACKBONES:
        try:
            find_weights(BACKBONES[name], allow_download=False)
        except InputError as error:
            pytest.skip(str(error))
    return build_metric(name)


def rows(count, seed=0, side=32):
    """Scored rows with one operator each, built so that row i is the same in every batch."""
    generator = torch.Generator().manual_seed(seed)
    truth = torch.rand(count, 3, side, side, generator=generator) * 2 - 1
    images = truth + 0.3 * torch.randn(truth.shape, generator=generator)
    operators = [
        build_operator("random_inpainting", {"keep": 0.2 + 0.01 * i, "seed": i}, x_shape=(3, side, side))
        for i in range(count)
    ]
    sigma = torch.linspace(0.05, 0.2, count, dtype=torch.float64)
    y = measure(stack_operators(operators), truth, sigma=sigma.tolist(), seeds=range(count))
    return truth, images, operators, y, sigma


def scored(batch, chosen=slice(None), **changes):
    truth, images, operators, y, sigma = (part[chosen] for part in batch)
    keys = [f"row {index}" for index in range(len(batch[0]))][chosen]
    return Scored(truth, images, **{"truth_keys": keys, "operator": stack_operators(operators), "y": y, "sigma": sigma}
                  | changes)  # fmt: skip


@pytest.mark.parametrize("name", metric_names("image"))
def test_a_batch_of_64_equals_64_batches_of_1(name):
    metric = build(name)
    batch = rows(64)
    together = metric(scored(batch))
    assert (together.dtype, together.shape, together.device.type) == (torch.float64, (64,), "cpu")
    alone = torch.cat([metric(scored(batch, slice(i, i + 1), truth_keys=None)) for i in range(64)])
    assert together.unique().numel() == 64
    assert together.numpy() == pytest.approx(alone.numpy(), rel=1e-5)


@pytest.mark.parametrize("name", metric_names("image"))
def test_a_bad_row_spoils_only_itself(name):
    metric = build(name)
    batch = rows(6)
    clean = metric(scored(batch))
    truth, images = batch[0].clone(), batch[1].clone()
    images[1, 0, 3, 3] = math.nan
    images[2, 1, 0, 0] = -math.inf
    truth[3, 0, 0, 0] = math.inf
    truth[4, 0, 0, 0] = 1.01
    spoiled = scored((truth, images, *batch[2:]))
    values = metric(spoiled)
    assert torch.isnan(values).tolist() == [False, True, True, True, True, False]
    assert values[[0, 5]].numpy() == pytest.approx(clean[[0, 5]].numpy(), rel=1e-5)
    problems = row_problems(spoiled)
    assert problems[0] is None
    assert problems[1] == "reconstruction has 1 NaN or infinite values: every value must be finite"
    assert problems[3] == "truth has 1 NaN or infinite values: every value must be finite"
    assert problems[4] == "truth leaves [-1, 1] by 0.01: at most 0.001 is allowed"


@pytest.mark.parametrize("name", metric_names("image"))
def test_reconstructions_are_clamped_and_empty_batches_are_fine(name):
    metric = build(name)
    batch = rows(2)
    clamped = (batch[0], batch[1].clamp(-1, 1), *batch[2:])
    assert torch.equal(metric(scored(batch)), metric(scored(clamped)))
    assert metric(Scored(torch.zeros(0, 3, 32, 32), torch.zeros(0, 3, 32, 32))).shape == (0,)


def test_score_gives_a_column_per_metric():
    batch = scored(rows(3))
    columns = score([build_metric("psnr"), build_metric("residual")], batch)
    assert list(columns) == ["psnr", "residual"]
    assert all(isinstance(column, np.ndarray) and column.shape == (3,) for column in columns.values())


def test_names_and_facts_need_no_weights():
    of_pictures = ["lpips_alex", "lpips_vgg", "psnr", "psnr_8bit", "residual", "residual_norm", "ssim"]
    assert metric_names("image") == of_pictures
    assert {"foot_skating", "path_error", "residual"} < set(metric_names("motion"))
    assert set(metric_names()) == {*metric_names("image"), *metric_names("motion")}
    directions = {name: metric_info(name).direction for name in metric_names()}
    assert directions["psnr"] == directions["ssim"] == "higher"
    assert directions["lpips_vgg"] == "lower"
    assert directions["residual"] == "none"
    assert metric_info("psnr").unit == "dB"


def test_a_metric_is_built_once():
    assert build_metric("ssim") is build_metric("ssim", {"window": "gaussian"}, device=torch.device("cpu"))
    assert build_metric("ssim") is not build_metric("ssim", {"window": "uniform"})


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: build_metric("psnrr"), "metric is 'psnrr' (did you mean 'psnr'?): it must be one of feet_on_floor"),
        (lambda: build_metric("ssim", {"window": "round"}), "window is 'round': it must be 'gaussian' or 'uniform'"),
        (lambda: build_metric("psnr", {"peak": 2}), "unknown setting 'peak'"),
        (lambda: build_metric("psnr", device="abacus"), "device is 'abacus'"),
        (lambda: Scored(torch.zeros(1, 3, 8, 8), torch.zeros(1, 3, 9, 8)), "they must have the same"),
        (lambda: Scored(torch.zeros(3, 8, 8), torch.zeros(3, 8, 8)), "it must be three positive integers (C, H, W)"),
        (
            lambda: Scored(None, torch.zeros(3)),
            "x is torch.float32 of shape (3,): it must be a floating-point (B, ...)",
        ),
        (lambda: build_metric("psnr")(Scored(None, torch.zeros(1, 3, 8, 8))), "psnr: truth must be given"),
        (lambda: Scored(torch.zeros(1, 3, 8, 8).byte(), torch.zeros(1, 3, 8, 8)), "truth is torch.uint8"),
        (lambda: Scored(torch.zeros(1, 3, 8, 8), torch.zeros(1, 3, 8, 8), truth_keys=["a", "b"]), "truth_keys has 2"),
        (lambda: Scored(torch.zeros(2, 3, 8, 8), torch.zeros(2, 3, 8, 8), sigma=torch.tensor(0.1)), "sigma has shape"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
