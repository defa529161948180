"""From a work item with its measurement to a row that can be restored, or one sentence on why it cannot."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from g2d2.methods import Method, MethodSettings
from g2d2.priors.base import PriorFacts
from operators import Operator
from pipelines.manifest import build_row_operator, check_content, measurement


@dataclass(frozen=True)
class Row:
    """A work item as a method takes it."""

    position: int
    """In its shard."""
    item: str
    signal: str
    operator: Operator
    y: Tensor
    sigma: float
    settings: MethodSettings
    prompt: str
    seed: int


def prepare(position: int, item: Mapping[str, Any], method: Method[Any, Any], facts: PriorFacts | None) -> Row:
    """Check a row by itself: a bad one must not reach its neighbours' batch."""
    check_content(item, item["content_digest"], item["measurement_digest"])
    operator, y = build_row_operator(item), measurement(item)
    settings = method.validated(json.loads(item["settings"]))
    method.check(facts, operator, settings, item["prompt"])
    return Row(
        position=position,
        item=item["item"],
        signal=item["signal"],
        operator=operator,
        y=y,
        sigma=item["sigma"],
        settings=settings,
        prompt=item["prompt"],
        seed=item["solver_seed"],
    )
