"""The settings of G2D2, its presets and the paper's hyper-parameter table.

`gamma` is the forget coefficient as the experiments used it: the weight of the prior when a step starts from the
previous one, so 1 forgets the previous step. Algorithm 1 prints the complementary weight.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from g2d2.choices import BetaDenominator, OptimizerName, Process, Relaxation, Remasking, TokenSpacing
from g2d2.methods.settings import MethodSettings, free


class G2D2Settings(MethodSettings):
    """How G2D2 restores one row."""

    process: Process = free("star")
    """Noise process that draws z_s: `star` from z_0 alone, `markov` from z_0 and z_t."""
    eta_kl: float = free(0.0003, ge=0)
    """Base weight of the KL term against the prior."""
    gamma: float = free(0.3, ge=0, le=1)
    """Forget coefficient: weight of the prior in the start of a step; 1 forgets the previous step."""
    learning_rate: float = free(10.0, gt=0)
    """Base learning rate of the inner optimiser."""
    lambda_kl: float = free(2.0)
    """Decades over which eta_kl falls from the first step to the last."""
    lambda_lr: float = free(1.0)
    """Decades over which the learning rate falls from the first step to the last."""
    guidance: float = free(5.0, ge=0)
    """Classifier-free guidance s: 1 is conditional, 0 unconditional."""
    temperature: float = free(1.0, gt=0)
    """Gumbel-softmax temperature."""
    discrepancy: float = free(0.0, ge=0)
    """A row rests for the rest of a step once its residual is at most so many times that of noise alone; 0: never."""

    steps: int = Field(100, ge=1)
    """T, the number of sampling steps; at most the prior's training steps."""
    iterations: int = free(30, ge=1)
    """Inner optimisation iterations per step."""
    lambda_iterations: float = 0.0
    """Decades over which a step's iterations fall from the first to the last; on average they are `iterations`."""
    optimizer: OptimizerName = "radam"
    """Inner optimiser."""
    optimizer_memory: Literal["step", "run"] = "step"
    """Whether the optimiser's moments start anew at every step or live on through the run."""
    memory_kept: float = Field(1.0, ge=0, le=1)
    """Of moments that live on, the share of the iterations behind them for which they still count in the next step."""
    likelihood: Literal["norm", "squared"] = "norm"
    """Measurement misfit: the norm per image (appendix of the paper), or its square (main text)."""
    relaxation: Relaxation = "gumbel"
    """How alpha becomes embeddings: soft or straight-through Gumbel samples, the mean, or the nearest code to it."""
    gumbel_share: float = Field(1.0, ge=0, le=1)
    """Share of the steps, from the first on, that draw Gumbel numbers; later ones relax to the mean."""
    remasking: Remasking = "independent"
    """How star chooses what to mask: per token, an exact count at random, or an exact count of the least certain."""
    remasking_temperature: float = Field(0.0, ge=0)
    """Gumbel numbers added to the certainty by which tokens are masked, times the share that is masked."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Truncation of alpha where star draws z_0."""
    prior_top_p: float = Field(1.0, gt=0, le=1)
    """Truncation of the prior's own distribution."""
    truncation: Literal["exact", "rounded"] = "exact"
    """`exact` cuts nothing at 1; `rounded` goes by a float32 sum as the published code does, which reaches 1 early."""
    spacing: TokenSpacing = "even"
    """With fewer steps than trained: `even` asks the prior at z's own level, `one-level` one above the next z's."""
    final: Literal["sample", "argmax", "expectation"] = "sample"
    """How the last alpha becomes the reconstruction."""
    final_steps: int = Field(1, ge=1)
    """Last steps whose alpha is averaged before `argmax` or `expectation`."""
    samples: int = Field(1, ge=1)
    """Runs, each from a seed of its own, whose mean is the reconstruction; their spread is recorded."""
    kl_gradient: Literal["exact", "raw-logits"] = "exact"
    """`raw-logits` reproduces the published code's gradient, which is off by +p."""
    weight_schedule: Literal["paper", "endpoints"] = "paper"
    """`paper`: 10^(lambda/2 (2t/T - 1)), t = T..1; `endpoints`: exponents from +lambda/2 to exactly -lambda/2."""
    code_moves: Literal["schedule", "none"] = "schedule"
    """Moves between codes while noise is added: the schedule's own, or none, so that markov never revises a token."""
    beta_denominator: BetaDenominator = "K+1"
    """Share of beta_bar per code: the paper prints K + 1, diffusers and the published code use K."""


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {},
    "reference": {
        "process": "markov",
        "remasking": "exact-count",
        "top_p": 0.95,
        "kl_gradient": "raw-logits",
        "weight_schedule": "endpoints",
        "beta_denominator": "K",
        "truncation": "rounded",
        "spacing": "one-level",
    },
    "aps": {"relaxation": "quantized-expectation", "remasking": "posterior-confidence", "steps": 15},
    "motion": {
        "steps": 25,
        "iterations": 20,
        "optimizer": "adam",
        "learning_rate": 0.3,
        "lambda_lr": 1.0,
        "eta_kl": 0.05,
        "lambda_kl": 0.0,
        "gamma": 0.7,
        "guidance": 1.0,
    },
}
"""`reference` is what the published code does; `aps` is anchored posterior sampling (arXiv 2510.02291); `motion` is
the paper's on masked motion models, which have no guidance."""

EXPERIMENTS: dict[str, dict[str, dict[str, float]]] = {
    "paper": {
        "imagenet-sr4": {"learning_rate": 10.0, "lambda_lr": 1.0, "guidance": 5.0},
        "imagenet-gaussian-deblur": {"learning_rate": 15.0, "lambda_lr": 1.0, "guidance": 5.0},
        "ffhq-sr4": {"learning_rate": 10.0, "lambda_lr": 2.0, "guidance": 3.0},
        "ffhq-gaussian-deblur": {"learning_rate": 15.0, "lambda_lr": 1.0, "guidance": 3.0},
    },
    "reference": {
        "imagenet-sr4": {"learning_rate": 10.0, "lambda_lr": 2.0, "guidance": 5.0},
        "imagenet-gaussian-deblur": {"learning_rate": 15.0, "lambda_lr": 1.0, "guidance": 5.0},
        "ffhq-sr4": {"learning_rate": 10.0, "lambda_lr": 2.0, "guidance": 1.0},
        "ffhq-gaussian-deblur": {"learning_rate": 15.0, "lambda_lr": 1.0, "guidance": 1.0},
    },
}
"""The paper's hyper-parameter table (appendix), and the values its published code ships instead."""
