"""How a prior scales features: its own mean and standard deviation, which travel with it."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from operators.errors import InputError
from operators.skeleton.joint_names import FEATURES


@dataclass(frozen=True, eq=False)
class MotionNormalisation:
    """z = (features - mean) / std, with 263 numbers each."""

    mean: Tensor  # (263,)
    std: Tensor  # (263,)

    def __post_init__(self) -> None:
        for name in ("mean", "std"):
            values: Tensor = getattr(self, name)
            if tuple(values.shape) != (FEATURES,):
                raise InputError(f"{name} has shape {tuple(values.shape)}: it must be ({FEATURES},).")
            if not values.is_meta and not torch.isfinite(values).all():
                raise InputError(f"{name} has NaN or infinite values: every value must be finite.")
        if not self.std.is_meta and not (self.std > 0).all():
            raise InputError(f"std is {float(self.std.min()):g} somewhere: every value must be above 0.")

    def normalise(self, features: Tensor) -> Tensor:
        """Features (..., 263) as the prior sees them."""
        return (features - self.mean.to(features)) / self.std.to(features)

    def restore(self, z: Tensor) -> Tensor:
        """The features of what the prior made."""
        return z * self.std.to(z) + self.mean.to(z)

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> Self:
        """The same on another device or in another dtype."""
        moved = object.__new__(type(self))  # checked already; checking again would wait for a device
        for name, values in self.tensors().items():
            object.__setattr__(moved, name, values.to(device, dtype))
        return moved

    def tensors(self) -> dict[str, Tensor]:
        """What a prior's weights file keeps."""
        return {"mean": self.mean, "std": self.std}

    @classmethod
    def from_clips(cls, clips: list[Tensor], smallest: float = 1e-4) -> Self:
        """Mean and standard deviation over all frames of clips (F, 263), none below `smallest`."""
        frames = torch.cat([clip.double() for clip in clips])
        return cls(frames.mean(0).float(), frames.std(0, correction=0).clamp(min=smallest).float())
