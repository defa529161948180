"""Random streams that are told apart by name, so that equal seeds for two purposes never share numbers."""

import hashlib

import torch


def seeded_generator(seed: int, stream: str) -> torch.Generator:
    """A generator for one seed and one purpose, on the CPU so that every device sees the same numbers."""
    digest = hashlib.sha256(f"{stream}\n{int(seed)}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
