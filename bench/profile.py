"""Where the solver's time goes: its parts timed alone, weighed by how often a step of 30 iterations runs them."""

import statistics
from typing import Any

import torch
from torch import Tensor

from bench.problems import PROBLEMS, PROMPT
from bench.registry import Effort, Ratio, stands_for
from bench.timing import take_turns
from g2d2.objective import kl_with_gradient, misfit
from g2d2.optimizers import RowOptimizer
from g2d2.randomness import RowRandom
from g2d2.relaxation import relax

ITERATIONS = 30


@stands_for(
    Ratio(
        "share of time in decoder and operator",
        "share",
        0.7,
        where={"part": ("decoder and operator, forward", "decoder and operator, backward")},
        over="sum",
    )
)
def run(effort: Effort) -> list[dict[str, Any]]:
    """One row per part: milliseconds per call and its share of a step."""
    name, batch, rounds = ("tiny", 2, 1) if effort.level == "quick" else ("small", 16, 5)
    parts = _Parts(name, batch)
    seconds = take_turns(
        {
            "prior transformer, guidance 5": parts.transformer,
            "decoder and operator, forward": parts.decoder_forward,
            "decoder and operator, with gradient": parts.decoder_with_gradient,
            "relaxation, with gradient": parts.relaxation,
            "KL, with gradient": parts.kl,
            "optimiser and normalisation": parts.optimiser,
            "Gumbel noise": parts.noise,
        },
        rounds,
    )
    medians = {part: statistics.median(times) for part, times in seconds.items()}
    forward = medians["decoder and operator, forward"]
    both = medians.pop("decoder and operator, with gradient")
    medians["decoder and operator, backward"] = max(both - forward, 0.0)
    per_step = {part: time * (1 if "transformer" in part else ITERATIONS) for part, time in medians.items()}
    whole = sum(per_step.values())
    return [
        {
            "architecture": name,
            "batch": batch,
            "part": part,
            "ms_per_call": 1e3 * medians[part],
            "calls_per_step": round(per_step[part] / medians[part]) if medians[part] else 0,
            "share": time / whole,
        }
        for part, time in sorted(per_step.items(), key=lambda item: -item[1])
    ]


class _Parts:
    """The parts of an iteration on inputs of the right shape."""

    def __init__(self, name: str, batch: int) -> None:
        problem = PROBLEMS[name]
        self.prior, self.operator, self.y = problem.prior(), problem.operator(), problem.measurements(batch)
        self.codebook = self.prior.codebook
        codes, width = self.codebook.shape
        generator = torch.Generator().manual_seed(0)

        def normal(*shape: int) -> Tensor:
            return torch.randn(batch, *shape, generator=generator)

        self.shape = (codes, self.prior.num_tokens)
        self.log_alpha, self.log_prior = (normal(*self.shape).log_softmax(dim=1) for _ in range(2))
        self.gradient, self.embeddings = normal(*self.shape), normal(width, self.prior.num_tokens)
        self.random = RowRandom(range(batch), "cpu")
        self.gumbel = self.random.gumbel("relaxation", self.shape)
        self.ones = torch.ones(batch, 1, 1)
        self.rows = RowOptimizer("radam", self.log_alpha)
        self.rows.count = 10  # past plain momentum
        self.condition = self.prior.condition([PROMPT] * batch, [5.0] * batch)
        self.z = torch.full((batch, self.prior.num_tokens), codes)

    def transformer(self) -> None:
        self.prior.log_probs(self.z, self.prior.schedule.levels(1)[0], self.condition)

    @torch.no_grad()
    def decoder_forward(self) -> None:
        misfit(self.operator, self.prior.decode(self.embeddings), self.y)

    def decoder_with_gradient(self) -> None:
        embeddings = self.embeddings.detach().requires_grad_()
        torch.autograd.grad(misfit(self.operator, self.prior.decode(embeddings), self.y).sum(), embeddings)

    def relaxation(self) -> None:
        relax(self.log_alpha, self.gumbel.clone(), self.ones, self.codebook, "gumbel").gradient(self.embeddings)

    def kl(self) -> None:
        kl_with_gradient(self.log_alpha, self.log_prior)

    def optimiser(self) -> None:
        self.rows.update_(self.log_alpha, self.gradient, 1e-6 * self.ones)
        self.log_alpha.log_softmax(dim=1)

    def noise(self) -> None:
        self.random.gumbel("relaxation", self.shape)
