"""Sizes as people write them: width before height."""

from collections.abc import Sequence

from operators.plurals import counted


def size_words(shape: Sequence[int]) -> str:
    """`32x24 with 3 channels` for images (3, 24, 32); another shape as it is."""
    if len(shape) != 3:
        return "of shape " + "x".join(map(str, shape))
    channels, height, width = shape
    return f"{width}x{height} with {counted(channels, 'channel')}"
