"""A row of a network has the same bits on a CPU whatever its batch, and costs little more for it."""

import pytest
import torch
from torch import nn

from g2d2.priors.random_unets import UNet2DModel, random_unet
from g2d2.priors.steady_rows import CPU_ROWS, SteadyConv2d, SteadyLinear, steady

SHAPES = {
    "tiny": {},
    "embedded": {
        "side": 32,
        "block_out_channels": (48, 96, 96),
        "down_block_types": ("DownBlock2D", "DownBlock2D", "AttnDownBlock2D"),
        "up_block_types": ("AttnUpBlock2D", "UpBlock2D", "UpBlock2D"),
        "attention_head_dim": 32,
        "norm_num_groups": 8,
    },
    "one pixel left": {"block_out_channels": (32,) * 4, "down_block_types": ("AttnDownBlock2D",) * 4,
                       "up_block_types": ("AttnUpBlock2D",) * 4, "attention_head_dim": 8},
}  # fmt: skip


def answers(unet, z):
    z = z.clone().requires_grad_()
    output = unet(z, torch.tensor(7)).sample
    weights = torch.linspace(-1, 1, output[0].numel()).view(output.shape[1:])
    return output.detach(), torch.autograd.grad((output * weights).sum(), z)[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_values_and_gradients_of_a_row_do_not_depend_on_its_batch(shape):
    torch.manual_seed(0)
    unet = random_unet(**SHAPES[shape]).eval().requires_grad_(False)
    z = torch.randn(CPU_ROWS, 3, unet.config.sample_size, unet.config.sample_size)
    plain = answers(unet, z)
    steady(unet)
    whole = answers(unet, z)
    for value, expected in zip(whole, plain, strict=True):
        torch.testing.assert_close(value, expected, rtol=1e-3, atol=1e-4)
    for rows in (slice(0, 1), slice(7, 8), slice(2, 4), slice(3, 6), slice(1, 8)):
        for value, expected in zip(answers(unet, z[rows]), whole, strict=True):
            assert torch.equal(value, expected[rows])


def test_layers_keep_their_weights_and_names():
    unet = random_unet()
    names = list(unet.state_dict())
    steady(unet)
    steady(unet)
    assert list(unet.state_dict()) == names
    assert isinstance(unet, UNet2DModel)
    assert {type(module) for module in unet.modules()} >= {SteadyConv2d, SteadyLinear}
    assert nn.Conv2d not in {type(module) for module in unet.modules()}


@pytest.mark.parametrize("rows", [0, 1, 3, 5])
def test_a_linear_layer_takes_any_number_of_rows(rows):
    layer = nn.Linear(6, 4)
    x = torch.randn(rows, 6, requires_grad=True)
    expected = layer(x)
    steady(layer)
    torch.testing.assert_close(layer(x), expected)
    torch.testing.assert_close(layer(x[:, None]), expected[:, None])
