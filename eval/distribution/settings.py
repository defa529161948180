"""Settings of the distribution metrics: all that decides a value, apart from the images."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class DistributionSettings(BaseModel):
    """What every distribution metric has."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    batch_size: int = Field(default=64, ge=1)
    """Images per call of the network; it does not change the value."""

    weights_dir: Path | None = None
    """Folder with the network's weights, looked in before the usual places."""


class ReferenceSettings(DistributionSettings):
    """What metrics on clean-fid's Inception have."""

    reference: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_-]+/([0-9]+|na)/[A-Za-z0-9_-]+$")
    """Published statistics instead of ground truths: name/resolution/split, as in ffhq/256/trainval."""


class KernelSettings(DistributionSettings):
    """What kernel distances have."""

    subsets: int = Field(default=100, ge=1)
    """Random subsets the estimate is averaged over."""

    subset_size: int = Field(default=1000, ge=2)
    """Images per subset; with fewer images the subsets are as large as the smaller set."""

    seed: int = Field(default=0, ge=0)
    """Decides the subsets."""


class KidSettings(ReferenceSettings, KernelSettings):
    """What KID has."""
