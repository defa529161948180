"""Settings of the masked image prior, with one default each."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from g2d2.training.settings import Recipe, Settings, StageLimits, TokenModelSettings


class RangeSettings(Settings):
    """The tokeniser's move from pixels in [-1, 1] to pixels in [0, 1]."""

    batch: int = Field(default=64, gt=0)
    """Images per optimisation step."""
    lr: float = Field(default=1e-3, gt=0)
    """Peak learning rate of AdamW."""


class UViTSettings(TokenModelSettings):
    """A diffusers `UVit2DModel` and how it learns."""

    layers: int = Field(default=8, gt=0)
    """Transformer blocks between the two convolutional ones."""
    heads: int = Field(default=4, gt=0)
    """Attention heads."""
    head_dim: int = Field(default=32, gt=0)
    """Width of one head; the model's width is heads times this."""
    feed_forward: float = Field(default=2.75, gt=0)
    """Inner width of the gated feed-forward layers, relative to the model's width; aMUSEd's is 2.75."""
    spare_ids: int = Field(default=16, gt=0)
    """Ids after those of the codes; as in aMUSEd the last of them is the mask."""


class MaskedRecipe(Recipe):
    """A `UVit2DModel` over the tokens of a tokeniser that is there, conditioned on prompts."""

    family: ClassVar[str] = "masked_image"
    fixed: ClassVar[frozenset[str]] = frozenset({"seed", "tokeniser", "unit_range", "uvit"})

    tokeniser: Path
    """Folder of a VQ-Diffusion prior: its `vqvae` makes the tokens, its text encoder and tokenizer read prompts."""
    unit_range: RangeSettings = RangeSettings()
    """How the tokeniser's encoder learns the range of pixels that aMUSEd has."""
    range_limits: StageLimits = StageLimits(minutes=2)
    """Budget of the tokeniser's move."""
    uvit: UViTSettings = UViTSettings()
    """The network and how it learns."""
    limits: StageLimits = StageLimits(minutes=48, report_every=250)
    """Budget of the prior."""
