"""A device of torch by name, tried before anything heavy is put on it."""

import torch

from operators.errors import InputError


def usable_device(name: torch.device | str) -> torch.device:
    """The device of that name, on which a number can be written and read back."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"device: {str(name)!r} is no device of torch; use cpu, cuda or cuda:0.") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device: {str(name)!r} was asked for, but torch sees no CUDA device; use 'cpu'.")
    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, NotImplementedError, AssertionError) as error:
        reason = str(error).strip().split("\n")[0][:120]
        raise InputError(f"device: {str(name)!r} cannot be used here ({reason}); use cpu, cuda or cuda:0.") from None
    return device
