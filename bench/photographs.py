"""Held-out photographs of the embedded prior, measured and solved by a preset that ships with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq
import torch
from torch import Tensor

from eval.metrics import Scored, build_metric
from g2d2.methods.g2d2 import G2D2
from g2d2.methods.recording import Solution
from g2d2.methods.tuned import tuned_settings
from g2d2.priors import load_prior
from g2d2.priors.catalog import CATALOG
from operators import TASKS, Operator, measure
from operators.pictures import decode_stored

PRIOR = "cifar10"


@dataclass(frozen=True)
class Photographs:
    """Some of them with their measurements."""

    task: str
    truth: Tensor  # (N, 3, 32, 32)
    prompts: list[str]
    operator: Operator
    y: Tensor  # (N, *y_shape)
    sigma: float

    @classmethod
    def first(cls, count: int, task: str) -> "Photographs":
        known, folder = TASKS[task], CATALOG[PRIOR].folder
        assert folder is not None  # it ships
        pictures = pq.read_table(folder.parent / "cifar10-heldout.parquet").slice(0, count).to_pylist()
        truth = torch.stack([decode_stored(picture["image"], picture["id"]) for picture in pictures])
        operator = known.build().to(dtype=torch.float32)
        y = measure(operator, truth, sigma=known.sigma, seeds=range(count))
        return cls(task, truth, [picture["prompt"] for picture in pictures], operator, y, known.sigma)

    def solved(self, preset: str, changes: Mapping[str, Any], dtype: str = "float32") -> Solution:
        """Restored at the preset's settings with some changes, a seed for each photograph."""
        method = G2D2()
        tuned = tuned_settings(CATALOG[PRIOR].folder, method, preset)
        assert tuned is not None  # it ships
        settings = tuned.settings(method, self.task, changes)
        prior = load_prior(PRIOR, dtype=dtype)
        seeds = range(len(self.truth))
        return method.run(prior, self.operator, self.y, settings, prompts=self.prompts, seeds=seeds, sigma=self.sigma)

    def scores(self, metric: str, solution: Solution) -> Tensor:
        """(N,)"""
        sigma = torch.full((len(self.truth),), self.sigma)
        scored = Scored(self.truth, solution.x.clamp(-1, 1), operator=self.operator, y=self.y, sigma=sigma)
        return build_metric(metric)(scored)
