"""What a sweep ran on, as far as it decides numbers."""

import platform
from importlib.metadata import version

import torch


def environment() -> dict[str, str]:
    """Versions of Python, torch, Ray and CUDA in this process."""
    found = {"python": platform.python_version(), "torch": torch.__version__, "ray": version("ray")}
    return found if torch.version.cuda is None else found | {"cuda": torch.version.cuda}
