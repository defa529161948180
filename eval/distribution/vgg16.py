"""VGG16 features for the cousins of FID and KID, which need no file that only a download can bring."""

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from eval.distribution.extractors import FeatureExtractor, NetworkExtractor
from eval.distribution.results import Unavailable
from eval.weights import load_backbone
from operators.errors import InputError

DIM = 512
SIDE = 224
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def load_vgg16(weights_dir: Path | None, device: torch.device) -> FeatureExtractor | Unavailable:
    """The extractor, or why the weights are missing."""
    try:
        # without the last pooling: the average over positions takes its place
        network = load_backbone("vgg16", weights_dir=weights_dir)[:-1]
    except InputError as error:
        return Unavailable(str(error))
    network.to(device)
    return NetworkExtractor("vgg16", DIM, lambda pixels: _embed(network, pixels.to(device)))


def _embed(network: nn.Module, pixels: Tensor) -> Tensor:
    """Mean over positions of the last rectified convolution, (B, 512)."""
    last: Tensor = network(normalise(pixels))  # (B, 512, 14, 14)
    return last.mean(dim=(2, 3))


def normalise(pixels: Tensor) -> Tensor:
    """uint8 images (B, 3, H, W) to (B, 3, 224, 224): antialiased bicubic, then ImageNet's mean and deviation."""
    resized = functional.interpolate(pixels.float() / 255, (SIDE, SIDE), mode="bicubic", antialias=True).clamp(0, 1)
    mean, std = (resized.new_tensor(values)[:, None, None] for values in (_MEAN, _STD))
    return (resized - mean) / std
