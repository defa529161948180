"""Keep `import torchvision` working when its compiled extension does not match this machine's torch.

lpips, clean-fid, transformers and diffusers import torchvision for Python code alone. A CUDA build of torchvision
beside a CPU build of torch cannot load its extension, and the import then fails on two operator schemas that nothing
here calls. It lives in the lowest layer because every layer above imports one of those libraries.
"""

import importlib.util
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_library: Any = None


class _BeforeTorchvision(MetaPathFinder):
    """Finds nothing, and defines the missing schemas when torchvision is looked for: until then torch is not needed."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == "torchvision":
            ensure_torchvision_imports()


def guard_torchvision() -> None:
    """From now on the first import of torchvision, by whomever, finds what it needs."""
    waiting = any(isinstance(finder, _BeforeTorchvision) for finder in sys.meta_path)
    if "torchvision" not in sys.modules and not waiting:
        sys.meta_path.insert(0, _BeforeTorchvision())


def ensure_torchvision_imports() -> bool:
    """Define the missing schemas if torchvision's own extension cannot load; return whether they were defined."""
    import torch

    global _library
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _BeforeTorchvision)]
    if _library is not None:
        return True
    if hasattr(torch.ops.torchvision, "nms"):
        return False
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        return False
    if any(_loads(path) for path in Path(spec.origin).parent.glob("_C*.so")):
        return False
    _library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        _library.define(name + _SCHEMA)
    return True


def _loads(extension: Path) -> bool:
    import torch

    try:
        torch.ops.load_library(str(extension))
    except (ImportError, OSError):
        return False
    return True
