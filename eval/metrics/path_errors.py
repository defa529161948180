"""How far a motion is from the key points it was to meet, as OmniControl (Xie et al. 2024) reports it."""

from typing import ClassVar

import torch
from torch import Tensor

from eval.metrics.base import RowMetric, Scored
from eval.metrics.info import Need
from operators import InputError
from operators.path import Path
from operators.skeleton import joints_from_features

FAR = 0.5
"""Metres beyond which a key point counts as missed."""


class PathError(RowMetric):
    """The mean distance in metres between a joint and its key points."""

    name = "path_error"
    direction = "lower"
    unit = "m"
    summary = "mean distance to the key points of a path"
    tolerance: ClassVar[float | None] = 0.02
    signals = ("motion",)
    needs: ClassVar[tuple[Need, ...]] = ("operator", "y")

    def rows(self, truth: Tensor, x: Tensor, scored: Scored) -> Tensor:
        operator, y = scored.operator, scored.y
        assert y is not None
        if not isinstance(operator, Path):
            raise InputError(
                f"{self.name}: it needs measurements of path, and these are of {operator and operator.name}."
            )
        place = operator.here.device
        operator.check_batch(y, operator.y_shape, "measurement batch")
        residual = operator(operator.cropped(x.to(place, torch.float64))) - y.to(place, torch.float64)
        distances: Tensor = torch.linalg.vector_norm(residual, dim=-1)  # (B, K, J)
        own = operator.here[..., 0].to(distances).expand_as(distances)  # rows with fewer key frames are padded
        return self.summarised(distances.flatten(1), own.flatten(1))

    def summarised(self, distances: Tensor, own: Tensor) -> Tensor:
        """(B,) of distances (B, points); `own` is 1 where a point is a row's and 0 where it is padding."""
        return (distances * own).sum(1) / own.sum(1)


class LocationError(PathError):
    """The share of key points that are missed by more than 50 cm."""

    name = "location_error_50cm"
    unit = ""
    summary = "share of key points missed by more than 50 cm"
    share = True
    tolerance = None  # the mean distance is judged already

    def summarised(self, distances: Tensor, own: Tensor) -> Tensor:
        return ((distances > FAR).to(own) * own).sum(1) / own.sum(1)


class TrajectoryError(PathError):
    """1 where any key point is missed by more than 50 cm, so that the mean over rows is the share of such motions."""

    name = "trajectory_error_50cm"
    unit = ""
    summary = "share of motions that miss any key point by more than 50 cm"
    share = True
    tolerance = None

    def summarised(self, distances: Tensor, own: Tensor) -> Tensor:
        return ((distances > FAR).to(own) * own).amax(1)


class WholePathError(RowMetric):
    """The mean distance in metres of the pelvis to the truth's over all frames, seen or not."""

    name = "whole_path_error"
    direction = "lower"
    unit = "m"
    summary = "mean distance of the pelvis to the true path over all frames, key frames or not"
    signals = ("motion",)

    def rows(self, truth: Tensor, x: Tensor, scored: Scored) -> Tensor:
        ours, real = (joints_from_features(clips.double())[:, :, 0] for clips in (x, truth))  # (B, F, 3)
        distances: Tensor = torch.linalg.vector_norm(ours - real, dim=-1)
        return distances.mean(1)
