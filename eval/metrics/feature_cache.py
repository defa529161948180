"""Features of ground truths, kept while there is room: every grid point of an image compares with the same truth."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b

import torch
from torch import Tensor

Features = tuple[Tensor, ...]
"""One tensor per layer, each with a leading axis of rows."""


class TruthFeatures:
    """Least recently used first out; a key counts only with the pixels it was stored for."""

    def __init__(self, compute: Callable[[Tensor], Features], max_bytes: int) -> None:
        self._compute, self._max_bytes = compute, max_bytes
        self._kept: OrderedDict[str, Features] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self.computed = 0
        """Truths that went through the network so far."""

    def __call__(self, truth: Tensor, keys: Sequence[str] | None) -> Features:
        """Features of every row of `truth`; equal rows are computed once, and rows with keys are kept."""
        names = [_name(row, "" if keys is None else keys[index]) for index, row in enumerate(truth)]
        found = {} if keys is None else {name: kept for name in set(names) if (kept := self._get(name)) is not None}
        missing = {name: index for index, name in enumerate(names) if name not in found}
        if missing:
            fresh = self._compute(truth[list(missing.values())])
            self.computed += len(missing)
            for position, name in enumerate(missing):
                # copied: a view would keep the whole batch alive
                found[name] = tuple(layer[position : position + 1].clone() for layer in fresh)
                if keys is not None:
                    self._put(name, found[name])
        return tuple(torch.cat(layers) for layers in zip(*(found[name] for name in names), strict=True))

    def _get(self, name: str) -> Features | None:
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
            return self._kept.get(name)

    def _put(self, name: str, features: Features) -> None:
        with self._lock:
            if name in self._kept or _size(features) > self._max_bytes:
                return
            self._kept[name] = features
            self._bytes += _size(features)
            while self._bytes > self._max_bytes:
                self._bytes -= _size(self._kept.popitem(last=False)[1])


def _name(row: Tensor, key: str) -> str:
    pixels = row.detach().float().cpu().numpy()
    return f"{key}/{pixels.shape}/{blake2b(pixels.tobytes(), digest_size=16).hexdigest()}"


def _size(features: Features) -> int:
    return sum(layer.numel() * layer.element_size() for layer in features)
