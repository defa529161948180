"""The two sides of the comparison behind one call: (batch, guidance) -> a finished solve."""

from collections.abc import Callable

import torch

from bench.problems import PROMPT, Problem
from bench.published_loop import DenseBlur, restore_as_published
from g2d2.methods.g2d2 import G2D2
from g2d2.methods.g2d2_settings import G2D2Settings

PUBLISHED, OURS = "published", "ours"
LARGEST_BATCH = 32

Side = Callable[[int, float], None]


def build_side(side: str, problem: Problem) -> Side:
    """Networks, operator and measurements are made here, so that a call holds the solve alone."""
    y = problem.measurements(LARGEST_BATCH if problem.name != "full" else 4)

    def settings(guidance: float) -> G2D2Settings:
        return G2D2().settings(
            "paper", learning_rate=15.0, guidance=guidance, steps=problem.steps, iterations=problem.iterations
        )

    if side == OURS:
        prior, operator = problem.prior(), problem.operator()

        def ours(batch: int, guidance: float) -> None:
            G2D2().run(prior, operator, y[:batch], settings(guidance), prompts=PROMPT, seeds=range(batch))

        return ours

    parts, blur = problem.components(), DenseBlur(problem.blur_settings())

    def published(batch: int, guidance: float) -> None:
        with torch.random.fork_rng(devices=[]):
            for row in range(batch):
                restore_as_published(parts, blur, y[row : row + 1], settings(guidance), PROMPT)

    return published
