"""A batch of rows, checked once: per-row settings become vectors that broadcast over (B, K, D)."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor

from g2d2.priors.base import Condition, Prior
from g2d2.settings import BATCH_FIELDS, ROW_FIELDS, G2D2Settings
from operators import InputError, Operator, check_measurement


@dataclass(frozen=True)
class Rows:
    """Measurements, condition and settings of a batch; vectors are (B, 1, 1)."""

    operator: Operator
    y: Tensor  # (B, ...)
    condition: Condition
    batch: G2D2Settings
    """Carries what all rows share; its per-row fields are the first row's and are not read."""
    markov: list[bool]
    eta_kl: Tensor
    gamma: Tensor
    learning_rate: Tensor
    lambda_kl: Tensor
    lambda_lr: Tensor
    temperature: Tensor

    def __len__(self) -> int:
        return len(self.y)


def gather_rows(
    prior: Prior,
    operator: Operator,
    y: Tensor,
    settings: G2D2Settings | Sequence[G2D2Settings],
    prompts: str | Sequence[str],
    seeds: Sequence[int],
) -> Rows:
    """Refuse what cannot be solved with one sentence, before any network runs."""
    if operator.image_shape != prior.image_shape:
        raise InputError(f"operator: made for images {operator.image_shape}, the prior makes {prior.image_shape}.")
    check_measurement(operator, y)
    count = len(y)
    per_row = [settings] * count if isinstance(settings, G2D2Settings) else list(settings)
    texts = [prompts] * count if isinstance(prompts, str) else list(prompts)
    for field, values in (("settings", per_row), ("prompts", texts), ("seeds", seeds)):
        if len(values) != count:
            raise InputError(f"{field}: {len(values)} given for {count} measurements; give one per row.")
    for field in BATCH_FIELDS:
        found = {getattr(row, field) for row in per_row}
        if len(found) > 1:
            values_text = ", ".join(str(value) for value in sorted(found, key=str))
            raise InputError(f"{field}: rows of one batch must agree, but have {values_text}.")
    prior.schedule.levels(per_row[0].steps)

    def vector(field: str) -> Tensor:
        values = [getattr(row, field) for row in per_row]
        return torch.tensor(values, dtype=prior.dtype, device=prior.device).view(-1, 1, 1)

    numbers = {field: vector(field) for field in ROW_FIELDS if field not in ("process", "guidance")}
    return Rows(
        operator=deepcopy(operator).to(prior.device, prior.dtype),  # the caller's own stays as it is
        y=y.to(prior.device, prior.dtype),
        condition=prior.encode_prompts(texts, [row.guidance for row in per_row]),
        batch=per_row[0],
        markov=[row.process == "markov" for row in per_row],
        **numbers,
    )
