"""Scores of images against the truth, for reports during and after training."""

from collections.abc import Callable

import torch
from torch import Tensor

Distance = Callable[[Tensor, Tensor], Tensor]
"""(images, truth), both in [-1, 1] -> one value per image; LPIPS where its weights are at hand."""


def psnr(images: Tensor, truth: Tensor) -> Tensor:
    """Per-image PSNR of images in [-1, 1], (B,)."""
    return -10 * ((images - truth) / 2).square().flatten(1).mean(1).log10()


def reconstruction_scores(
    reconstruct: Callable[[Tensor], Tensor], images: Tensor, lpips: Distance | None, batch: int = 250
) -> dict[str, float]:
    """Mean PSNR, and LPIPS if a network is given, of what `reconstruct` makes of rows of images in [-1, 1].

    `reconstruct` is given row numbers; a tokeniser decodes the tokens it has of them.
    """
    scores: dict[str, list[Tensor]] = {"psnr": [], "lpips": []}
    for rows in torch.split(torch.arange(len(images)), batch):
        decoded = reconstruct(rows)
        truth = images[rows].to(decoded.device)
        scores["psnr"].append(psnr(decoded, truth))
        if lpips is not None:
            scores["lpips"].append(lpips(decoded, truth).flatten())
    return {name: torch.cat(values).mean().item() for name, values in scores.items() if values}
