"""What a metric needs before it can score: weights on this machine, and images that are large enough."""

from collections.abc import Sequence

from eval.metrics.registry import metric_info
from eval.weights import find_weights
from operators import InputError


def check_metric(name: str, image_shape: Sequence[int] | None = None) -> None:
    """Refuse a metric that cannot score images of this shape (C, H, W) here; nothing is loaded or downloaded."""
    info = metric_info(name)
    if image_shape is not None and min(image_shape[1:]) < info.least_side:
        _, height, width = image_shape
        raise InputError(
            f"metrics: {name} needs images of at least {info.least_side}x{info.least_side} pixels, and these are "
            f"{width}x{height}; leave it out."
        )
    if info.backbone is not None:
        try:
            find_weights(info.backbone)
        except InputError as error:
            raise InputError(f"metrics: {name} cannot be measured here ({str(error).rstrip('.')}).") from None
