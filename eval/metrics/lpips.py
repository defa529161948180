"""LPIPS (Zhang et al. 2018), version 0.1, with the `lpips` package's networks and linear layers."""

import warnings
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from eval.metrics.base import MetricSettings, RowMetric, Scored, row_chunks
from eval.metrics.feature_cache import Features, TruthFeatures
from eval.weights import Backbone, load_backbone
from operators import InputError
from operators.torchvision_guard import ensure_torchvision_imports

Net = Literal["vgg", "alex"]

_BACKBONES: dict[Net, Backbone] = {"vgg": "vgg16", "alex": "alexnet"}
_CHUNK = 2**18


class LpipsSettings(MetricSettings):
    """Where the weights are, and how much of the ground truths to remember."""

    weights_dir: str | None = None
    """Folder with the backbone's weights (default: the G2D2_WEIGHTS environment variable)."""

    allow_download: bool | None = None
    """Whether missing weights may be downloaded (default: the G2D2_ALLOW_DOWNLOAD environment variable)."""

    cache_mb: int = Field(default=256, ge=0)
    """Memory for features of ground truths: about 0.5 MB for VGG at 32x32 and 32 MB at 256x256."""


class Lpips(RowMetric):
    """Distance of unit-length features, weighed per channel; the truth's features are computed once per truth."""

    direction = "lower"
    tolerance = "2%"
    signals = ("image",)
    Settings = LpipsSettings
    net: ClassVar[Net]

    def __init__(self, settings: LpipsSettings, device: torch.device) -> None:
        super().__init__(settings, device)
        self.model = lpips_network(self.net, settings.weights_dir, settings.allow_download).to(device)
        self.truths = TruthFeatures(self._features, settings.cache_mb * 2**20)

    def rows(self, truth: Tensor, x: Tensor, scored: Scored) -> Tensor:
        channels, height, width = truth.shape[1:]
        least = self.least_side
        if min(height, width) < least:
            raise InputError(f"{self.name}: images are {width}x{height}: they must be at least {least}x{least}.")
        if channels not in (1, 3):
            raise InputError(f"{self.name}: images have {channels} channels: they must have 3, or 1 for grey.")
        keys = scored.truth_keys
        # rows of one truth side by side: its features are then still at hand, however many truths the batch has
        order = list(range(len(truth))) if keys is None else sorted(range(len(truth)), key=keys.__getitem__)
        values = torch.empty(len(truth), dtype=torch.float64, device=self.device)
        for part in row_chunks(truth, _CHUNK):
            rows = order[part]
            features = self.truths(truth[rows], None if keys is None else [keys[row] for row in rows])
            values[rows] = self._distance(features, self._features(x[rows]))
        return values

    def _features(self, images: Tensor) -> Features:
        import lpips

        # TF32 and a search for algorithms would let a GPU and its batch size decide the third digit
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False):
            layers = self.model.net(self.model.scaling_layer(images.float()))
        return tuple(lpips.normalize_tensor(layer) for layer in layers)

    def _distance(self, truth: Features, images: Features) -> Tensor:
        layers = zip(self.model.lins, truth, images, strict=True)
        parts = [weigh((a - b).square()).mean((1, 2, 3)).double() for weigh, a, b in layers]
        return torch.stack(parts).sum(0)


class LpipsVgg(Lpips):
    """On VGG16; below 16 pixels its pooling layers have nothing left to pool."""

    name = "lpips_vgg"
    net = "vgg"
    backbone = "vgg16"
    least_side = 16
    summary = "perceptual distance on VGG16 features, LPIPS version 0.1"


class LpipsAlex(Lpips):
    """On AlexNet; below 31 pixels its pooling layers have nothing left to pool."""

    name = "lpips_alex"
    net = "alex"
    backbone = "alexnet"
    least_side = 31
    summary = "perceptual distance on AlexNet features, LPIPS version 0.1"


def lpips_network(net: Net, weights_dir: str | None = None, allow_download: bool | None = None) -> Any:
    """`lpips.LPIPS` with our backbone's weights; random ones are never made, so no random state is used either."""
    ensure_torchvision_imports()
    import lpips

    backbone = load_backbone(_BACKBONES[net], weights_dir=weights_dir, allow_download=allow_download)
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lpips asks torchvision in a way it has deprecated
        model = lpips.LPIPS(net=net, pretrained=False, pnet_rand=True, verbose=False)
    model.scaling_layer = lpips.ScalingLayer()
    for slice_ in model.net.children():
        for index in slice_._modules:  # a slice keeps the layers' positions in the whole as names
            slice_._modules[index] = backbone[int(index)]
    linear = Path(lpips.__file__).parent / "weights" / "v0.1" / f"{net}.pth"
    state = torch.load(linear, map_location="cpu", weights_only=True)
    for index, layer in enumerate(model.lins):
        layer.model[-1].weight = nn.Parameter(state[f"lin{index}.model.1.weight"])
    return model.requires_grad_(False).eval()
