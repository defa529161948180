"""How diffusers' networks compute attention while they are trained."""

import torch
from diffusers.models.attention_processor import Attention, AttnProcessor
from torch import nn


def plain_attention(network: nn.Module, device: torch.device) -> None:
    """On CPUs attention as products and a softmax: the backward pass of torch's fused one is slow in bfloat16 there.

    Weights and exported configuration know nothing of it, and results differ by rounding alone.
    """
    if device.type == "cpu":
        for module in network.modules():
            if isinstance(module, Attention):
                module.set_processor(AttnProcessor())
