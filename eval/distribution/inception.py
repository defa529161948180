"""The Inception of FID and KID: clean-fid's network behind clean-fid's resizing."""

import platform
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from eval.distribution.extractors import FeatureExtractor, NetworkExtractor
from eval.distribution.files import CleanFidFile
from eval.distribution.results import Unavailable
from operators.validation import shorten

DIM = 2048
FILE = "inception-2015-12-05.pt"
HOME = Path("." if platform.system() == "Windows" else "/tmp")
"""Where clean-fid looks and leaves it."""

SHA256 = "f58cb9b6ec323ed63459aa4fb441fe750cfe39fafad6da5cb504a16f19e958f4"
"""Of the file NVIDIA publishes. A script in a folder anyone can write to, such as /tmp, must not run unchecked."""


def load_inception(weights_dir: Path | None, device: torch.device) -> FeatureExtractor | Unavailable:
    """The extractor, or which file is missing."""
    path = find_inception(weights_dir)
    if isinstance(path, Unavailable):
        return path
    from cleanfid.inception_torchscript import InceptionV3W

    try:
        network = InceptionV3W(str(path.parent), download=False).to(device).eval()
    except RuntimeError as error:
        return Unavailable(f"the Inception network at {path} could not be loaded ({shorten(str(error))}).")
    return NetworkExtractor("inception", DIM, lambda pixels: network(clean_resize(pixels).to(device)))


def find_inception(weights_dir: Path | None = None) -> Path | Unavailable:
    """The network's file: in a folder the user names, where clean-fid puts it, or in torch's cache."""
    from cleanfid.downloads_helper import check_download_inception

    file = CleanFidFile(FILE, "the Inception network of FID and KID", HOME, check_download_inception, SHA256)
    return file.locate(weights_dir)


def clean_resize(pixels: Tensor) -> Tensor:
    """uint8 images (B, 3, H, W) as clean-fid resizes them: float32 (B, 3, 299, 299) in [0, 255]."""
    from cleanfid.resize import build_resizer

    resize = build_resizer("clean")
    resized = [resize(image) for image in pixels.permute(0, 2, 3, 1).cpu().numpy()]
    return torch.from_numpy(np.stack(resized)).permute(0, 3, 1, 2).contiguous()
