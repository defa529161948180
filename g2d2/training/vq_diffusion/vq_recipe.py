"""The recipe of the VQ-Diffusion prior: every setting of the training, with one default each."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from g2d2.training.settings import Recipe, Settings, StageLimits, TokenModelSettings


class VQVAESettings(Settings):
    """The image tokeniser, a diffusers `VQModel` without mid-block attention."""

    channels: tuple[int, ...] = (16, 32, 64)
    """Channels per resolution; each entry after the first halves the resolution."""
    layers_per_block: int = Field(default=1, gt=0)
    """Residual blocks per resolution in the encoder; the decoder has one more."""
    groups: int = Field(default=8, gt=0)
    """Groups of the group normalisation; must divide every entry of `channels`."""
    codes: int = Field(default=1024, gt=1)
    """Codebook size K."""
    code_dim: int = Field(default=16, gt=0)
    """Dimension of a codebook vector."""
    batch: int = Field(default=32, gt=0)
    """Images per optimisation step."""
    lr: float = Field(default=2e-3, gt=0)
    """Peak learning rate of AdamW."""
    unquantised: float = Field(default=0.08, ge=0, lt=1)
    """Fraction of the budget trained without quantisation, before k-means sets the codebook."""
    commitment: float = Field(default=0.25, ge=0)
    """Weight that ties the encoder's output to its code."""
    code_decay: float = Field(default=0.99, gt=0, lt=1)
    """Decay of the codebook's moving averages."""
    dead_share: float = Field(default=0.1, ge=0)
    """A code used less than this share of its fair part is re-seeded from the batch."""
    restarts_until: float = Field(default=0.8, ge=0, le=1)
    """Fraction of the budget after which dead codes are left alone."""
    gradient_weight: float = Field(default=0.05, ge=0)
    """Weight of the L1 loss on finite differences, beside the squared error."""


class TransformerSettings(TokenModelSettings):
    """The prior over tokens, a discrete diffusers `Transformer2DModel`."""

    layers: int = Field(default=8, gt=0)
    """Transformer blocks."""
    heads: int = Field(default=4, gt=0)
    """Attention heads."""
    head_dim: int = Field(default=32, gt=0)
    """Width of one head; the model's width is heads times this."""
    timesteps: int = Field(default=100, gt=1)
    """T of the noise process."""
    text_width: int = Field(default=64, gt=0)
    """Width of the CLIP text encoder."""
    text_layers: int = Field(default=1, gt=0)
    """Layers of the CLIP text encoder."""
    text_length: int = Field(default=16, gt=6)
    """Prompt length in tokens, padding included."""


class VQDiffusionRecipe(Recipe):
    """Both stages of a VQ-Diffusion prior, or the second alone from a prior that is there."""

    family: ClassVar[str] = "vq_diffusion"
    fixed: ClassVar[frozenset[str]] = frozenset({"seed", "start", "vqvae", "transformer"})

    start: Path | None = None
    """Folder of a prior of the same shape to go on from: its tokeniser stays, all else is trained further."""
    vqvae: VQVAESettings = VQVAESettings()
    """The tokeniser."""
    vqvae_limits: StageLimits = StageLimits(minutes=16)
    """Budget of the tokeniser."""
    transformer: TransformerSettings = TransformerSettings()
    """The prior over tokens."""
    transformer_limits: StageLimits = StageLimits(minutes=75)
    """Budget of the prior."""

    @property
    def budgets(self) -> dict[str, StageLimits]:
        """A run that starts from a prior has one stage, which gets all of the budget."""
        stages = super().budgets
        return stages if self.start is None else {"transformer_limits": stages["transformer_limits"]}
