"""Which pixel a position beyond the edge stands for: as indices, so that the transpose is exact too."""

import torch
from torch import Tensor


def symmetric_index(size: int, reach: int) -> Tensor:
    """Source pixel of positions -reach .. size+reach-1, the edge pixel repeated: c b a | a b c | c b a."""
    position = torch.arange(-reach, size + reach) % (2 * size)
    return torch.where(position < size, position, 2 * size - 1 - position)


def reflect_index(size: int, reach: int) -> Tensor:
    """Source pixel of positions -reach .. size+reach-1, the edge pixel not repeated: c b | a b c | b a."""
    period = max(2 * size - 2, 1)
    position = torch.arange(-reach, size + reach) % period
    return torch.where(position < size, position, period - position)


def fold(padded: Tensor, source: Tensor, size: int, dim: int) -> Tensor:
    """Add every padded entry to the pixel it stands for: the transpose of padding along `dim`."""
    shape = list(padded.shape)
    shape[dim] = size
    return padded.new_zeros(shape).index_add(dim, source.to(padded.device), padded)
