"""Settings of the masked motion prior, with one default each."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field, PositiveFloat

from g2d2.training.settings import Recipe, Settings, StageLimits, TokenModelSettings


class MotionVQVAESettings(Settings):
    """The tokeniser and how it learns."""

    width: int = Field(default=192, gt=0)
    """Channels of its convolutions."""
    depth: int = Field(default=3, gt=0)
    """Residual blocks at each rate of time."""
    codes: int = Field(default=512, gt=1)
    """Size of the codebook."""
    code_width: int = Field(default=32, gt=0)
    """Dimension of a code."""
    window: int = Field(default=128, gt=0, multiple_of=4)
    """Frames of a training window; the path that the root takes in it is part of the loss."""
    batch: int = Field(default=32, gt=0)
    """Windows per optimisation step."""
    lr: float = Field(default=1e-3, gt=0)
    """Peak learning rate of AdamW."""
    root_weight: float = Field(default=5.0, gt=0)
    """Weight of the root's turns, steps and height among the features, whose own weight is 1."""
    rotation_weight: float = Field(default=0.3, gt=0)
    """Weight of the rotations, which follow from the positions."""
    path_weight: float = Field(default=3.0, ge=0)
    """Weight of the distance in metres between the true and the recovered root, averaged over a window's frames."""
    joint_weight: float = Field(default=4.0, ge=0)
    """Weight of the joints' mean distance in metres in the root's own frame."""
    foot_height_weight: float = Field(default=10.0, ge=0)
    """Weight of the mean difference in metres of ankles and toes in height: a few centimetres decide who floats."""
    foot_speed_weight: float = Field(default=0.5, ge=0)
    """Weight of the error in metres per second of feet over the floor while they truly rest."""
    commitment: float = Field(default=0.1, ge=0)
    """Weight of the latents' distance to their codes."""
    unquantised: float = Field(default=0.15, ge=0, lt=1)
    """Share of the budget before the codebook is made by k-means of the latents."""
    restarts_until: float = Field(default=0.8, ge=0, le=1)
    """Share of the budget up to which unused codes are put on latents."""
    code_decay: float = Field(default=0.98, ge=0, lt=1)
    """Decay of the moving averages that keep the codes."""
    dead_share: float = Field(default=0.05, ge=0, lt=1)
    """Share of a fair use below which a code counts as unused."""


class MotionTransformerSettings(TokenModelSettings):
    """The masked transformer with its text encoder, and how they learn."""

    width: int = Field(default=192, gt=0)
    """Width of the transformer."""
    heads: int = Field(default=6, gt=0)
    """Attention heads."""
    word_layers: int = Field(default=1, gt=0)
    """Blocks that look at the words of the prompt."""
    layers: int = Field(default=5, gt=0)
    """Blocks that look at the tokens and at the pooled prompt."""
    text_width: int = Field(default=64, gt=0)
    """Width of the text encoder."""
    text_layers: int = Field(default=1, gt=0)
    """Layers of the text encoder."""
    text_length: int = Field(default=32, gt=2)
    """Tokens of the longest prompt."""
    passes: int = Field(default=2, gt=0)
    """How often a training clip is cut into windows and encoded at each tempo, elsewhere and as long as it may be."""
    prompt_dropout: float = Field(default=0.2, ge=0, lt=1)
    """Share of rows trained with the empty prompt."""
    action_share: float = Field(default=0.5, ge=0, le=1)
    """Share of rows with a named action whose prompt says that action alone: what other people's labels share."""
    dropout: float = Field(default=0.15, ge=0, lt=1)
    """Share of every block's updates that is left out of a step."""
    tempos: tuple[PositiveFloat, ...] = (1.0, 0.87, 1.15)
    """Speeds, as multiples of the recorded one, at which every training clip is encoded."""
    weight_decay: float = Field(default=0.02, ge=0)
    """Decoupled weight decay of the matrices."""


class MotionRecipe(Recipe):
    """A tokeniser of motion and a masked transformer over its tokens, conditioned on prompts."""

    family: ClassVar[str] = "masked_motion"
    fixed: ClassVar[frozenset[str]] = frozenset({"seed", "start", "vqvae", "transformer"})

    start: Path | None = None
    """Folder of a prior of the same shape to go on from: its weights, codes, words and normalisation."""
    vqvae: MotionVQVAESettings = MotionVQVAESettings()
    """The tokeniser."""
    vqvae_limits: StageLimits = StageLimits(minutes=12)
    """Budget of the tokeniser."""
    transformer: MotionTransformerSettings = MotionTransformerSettings()
    """The prior over tokens."""
    transformer_limits: StageLimits = StageLimits(minutes=6)
    """Budget of the prior, which learns clips by heart when it has more."""
