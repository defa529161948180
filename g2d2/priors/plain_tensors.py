"""Read pickled checkpoints as plain tensors only: nothing in the file is ever executed."""

import pickle
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

import torch

from operators.errors import InputError


def read_plain(path: str | Path) -> Any:
    """The content of a `.pth`, `.pt`, `.ckpt` or `.bin` file, refused if it holds more than tensors and containers."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"checkpoint {path}: there is no such file.")
    # mapped from disk where the format allows it: a checkpoint with EMA weights is several times the model
    mapped = zipfile.is_zipfile(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on odd pickles, which the sentence below is about
            return torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except pickle.UnpicklingError as error:
        raise InputError(f"checkpoint {path}: {_refusal(str(error))}") from None
    except (RuntimeError, EOFError, OSError, ValueError, KeyError, IndexError, AttributeError) as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise InputError(f"checkpoint {path}: it cannot be read, it may be cut short ({reason}).") from None


def _refusal(message: str) -> str:
    found = re.search(r"(?:GLOBAL|global) ([\w.]+)", message) or re.search(
        r"Unsupported (?:class|operand) ([\w.]+)", message
    )
    if found is None:
        return "it is not a file of plain tensors; nothing in it was executed."
    return (
        f"it is not plain tensors, it refers to {found.group(1)}, and nothing in it was executed; "
        "save its state dict alone where you trust it, and give that file."
    )
