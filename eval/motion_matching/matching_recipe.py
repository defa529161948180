"""Settings of the training of a matching network, with one default each."""

from typing import ClassVar

from pydantic import Field

from g2d2.training.settings import Recipe, Settings, StageLimits


class MatchingTraining(Settings):
    """The network's sizes and how it learns."""

    width: int = Field(default=128, gt=0)
    """Channels of the convolutions, and states of the recurrent layer in each direction."""
    word_width: int = Field(default=64, gt=0)
    """Numbers of a word."""
    embedding: int = Field(default=64, gt=0)
    """Dimension of the common space."""
    dropout: float = Field(default=0.2, ge=0, lt=1)
    """Share of states dropped."""
    word_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of a prompt's words dropped, so that no single one is relied on."""
    shortest: int = Field(default=40, ge=20)
    """Frames of the shortest window cut from a longer clip."""
    temperature: float = Field(default=0.07, gt=0)
    """Of the softmax over a batch."""
    batch: int = Field(default=96, gt=1)
    """Windows per optimisation step."""
    lr: float = Field(default=1e-3, gt=0)
    """Peak learning rate of AdamW."""
    weight_decay: float = Field(default=0.05, ge=0)
    """Decoupled weight decay."""
    ema_decay: float = Field(default=0.995, ge=0, lt=1)
    """Decay of the averaged weights that are exported."""


class MatchingRecipe(Recipe):
    """A network that matches motions with prompts, trained on captured clips of other people than it is measured on."""

    family: ClassVar[str] = "motion_matching"
    fixed: ClassVar[frozenset[str]] = frozenset({"seed", "network"})

    network: MatchingTraining = MatchingTraining()
    """The network."""
    limits: StageLimits = StageLimits(minutes=10, steps=600)
    """Its budget: beyond some hundred steps it learns clips by heart, and retrieval of other people's falls."""
