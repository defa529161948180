"""Settings of the continuous priors, with one default each."""

from pydantic import Field

from g2d2.training.settings import Settings


class UNetSettings(Settings):
    """A diffusers `UNet2DModel` and how it learns."""

    channels: tuple[int, ...] = (32, 64, 96, 128)
    """Channels per resolution; each entry after the first halves the resolution."""
    layers_per_block: int = Field(default=1, gt=0)
    """Residual blocks per resolution on the way down; the way up has one more."""
    attention_levels: int = Field(default=2, ge=0)
    """How many of the lowest resolutions have attention."""
    head_dim: int = Field(default=32, gt=0)
    """Width of an attention head."""
    groups: int = Field(default=8, gt=0)
    """Groups of the group normalisation; must divide every entry of `channels`."""
    batch: int = Field(default=32, gt=0)
    """Images per optimisation step."""
    timestep_skew: float = Field(default=1.5, gt=0)
    """Timesteps are T u^skew with u uniform: above 1, low noise is seen more often."""
    lr_matrices: float = Field(default=0.03, gt=0)
    """Peak learning rate of the orthogonalised updates of inner matrices and kernels."""
    lr_rest: float = Field(default=2e-3, gt=0)
    """Peak learning rate of AdamW for the first and last layers, norms, biases and the time embedding."""
    weight_decay: float = Field(default=0.01, ge=0)
    """Decoupled weight decay of the matrices."""
    ema_decay: float = Field(default=0.998, ge=0, lt=1)
    """Decay of the averaged weights that are exported."""
