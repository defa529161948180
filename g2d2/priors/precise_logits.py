"""Logits in full precision behind a network in half: of as many as there are codes, half precision loses too much."""

import torch
from torch import Tensor, nn


def keep_precise(layer: nn.Module, dtype: torch.dtype) -> None:
    """Give a network's last layer this precision, whatever the precision of what it is given."""
    nn.Module.to(layer, dtype=dtype)
    if _as_precise_as_weights not in layer._forward_pre_hooks.values():
        layer.register_forward_pre_hook(_as_precise_as_weights)


def _as_precise_as_weights(layer: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
    return (inputs[0].to(layer.weight.dtype),)  # type: ignore[arg-type]
