"""Statistics of tokens under a prior, under their frequencies, and of the codes they use."""

from collections.abc import Callable

import torch
from torch import Tensor

from g2d2.training.loop import step_generator

SHARES = (0.25, 0.5, 0.75, 1.0)
"""Shares of masked tokens in reports."""
Predict = Callable[[Tensor, Tensor, bool], Tensor]
"""(masked tokens (B, D), labels (B,), whether the prompt is given) -> log probabilities (B, K, D)."""


def mean_nats(log_p: Tensor, tokens: Tensor, where: Tensor) -> Tensor:
    """Mean cross entropy in nats of the tokens at some places of a batch; 0 where there is no such place.

    `log_p` is (B, K, D), the others are (B, D).
    """
    nats: Tensor = -log_p.gather(1, tokens[:, None])[:, 0]  # (B, D)
    return (nats * where).sum() / where.sum().clamp(min=1)


def code_usage(tokens: Tensor, codes: int) -> dict[str, float]:
    """How many codes occur, and the perplexity of their frequencies."""
    shares = torch.bincount(tokens.flatten(), minlength=codes).double()
    shares = shares / shares.sum()
    entropy = -(shares * shares.clamp(min=1e-12).log()).sum()
    return {"total": codes, "used": int((shares > 0).sum()), "perplexity": entropy.exp().item()}


def count_codes(tokens: Tensor, codes: int) -> Tensor:
    """Training frequencies of the codes, (K,)."""
    return torch.bincount(tokens.flatten().long(), minlength=codes)


def unigram_nats(tokens: Tensor, train_counts: Tensor) -> float:
    """Cross entropy of held-out tokens under the training frequencies: what a prior without context pays."""
    log_p = ((train_counts + 1).double() / (train_counts + 1).sum()).log()
    return -log_p[tokens].mean().item()


def masked_places(shape: torch.Size, count: int, generator: torch.Generator) -> Tensor:
    """Exactly `count` random places of each row, (N, D) bool."""
    return torch.rand(shape, generator=generator).argsort(1) < count


@torch.no_grad()
def masked_nats(
    predict: Predict, tokens: Tensor, labels: Tensor, share: float, mask_id: int, device: torch.device, batch: int = 64
) -> dict[str, float]:
    """Nats per masked token with exactly this share masked, given the prompt and given none.

    Where tokens are left, `kept` is the mean probability that the prior gives them, with the prompt.
    """
    count = round(share * tokens.shape[1])
    masked = masked_places(tokens.shape, count, step_generator(0, f"mask {share}", 0))  # (N, D)
    sums, kept = {"conditional": 0.0, "unconditional": 0.0}, 0.0
    for rows in torch.split(torch.arange(len(tokens)), batch):
        truth, where = tokens[rows].to(device), masked[rows].to(device)
        for name in sums:
            log_p = predict(truth.masked_fill(where, mask_id), labels[rows].to(device), name == "conditional")
            nats = -log_p.gather(1, truth[:, None])[:, 0]
            sums[name] += nats[where].sum().item()
            kept += (-nats[~where]).exp().sum().item() if name == "conditional" else 0
    measured = {name: total / (count * len(tokens)) for name, total in sums.items()}
    left = (~masked).sum().item()
    return measured | ({"kept": kept / left} if left else {})
