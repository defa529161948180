"""Two folders of photographs as PNG files and as tensors, and a network small enough to run anywhere."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn import functional

from operators.torchvision_guard import ensure_torchvision_imports

ensure_torchvision_imports()  # the tests import clean-fid themselves


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """Crops of two photographs, 24 each, of two sizes."""
    from skimage import data

    root = tmp_path_factory.mktemp("folders")
    rng = np.random.default_rng(0)
    for name, photo in (("truth", data.astronaut()), ("images", data.chelsea())):
        (root / name).mkdir()
        for number in range(24):
            side = 32 if number % 3 else 45
            top, left = (int(rng.integers(0, length - side)) for length in photo.shape[:2])
            Image.fromarray(photo[top : top + side, left : left + side]).save(root / name / f"{number:03}.png")
    return root / "truth", root / "images"


def read_tensors(folder):
    """What the rest of the package makes of a PNG: (3, H, W) in [-1, 1]."""
    pictures = [np.asarray(Image.open(path), dtype=np.float32) for path in sorted(folder.glob("*.png"))]
    return [torch.from_numpy(picture).permute(2, 0, 1) / 127.5 - 1 for picture in pictures]


@pytest.fixture(scope="session")
def tensors(folders):
    return tuple(read_tensors(folder) for folder in folders)


@pytest.fixture(scope="session")
def stub_network():
    """From (B, 3, 299, 299) in [0, 255] to 16 features of the size Inception's have; in float64 as the maths is."""
    generator = torch.Generator().manual_seed(0)
    filters = torch.randn(16, 3, 23, 23, generator=generator) / 40

    def network(batch):
        assert batch.shape[1:] == (3, 299, 299)
        assert batch.dtype == torch.float32
        return functional.conv2d(batch / 128 - 1, filters, stride=23).relu().mean(dim=(2, 3)).float().double()

    return network


@pytest.fixture
def no_weights(monkeypatch, tmp_path):
    """A machine without Inception: clean-fid's folder, torch's cache and the user's settings hold nothing."""
    from eval.distribution import inception

    monkeypatch.setattr(inception, "HOME", tmp_path / "home")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.delenv("G2D2_WEIGHTS", raising=False)
    monkeypatch.delenv("G2D2_ALLOW_DOWNLOAD", raising=False)
    return tmp_path
