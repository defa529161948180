"""The whole road from pictures to a number gives what clean-fid gives for the same folders and the same network."""

import numpy as np
import pytest
import torch
from cleanfid import fid as clean
from cleanfid.utils import ResizeDataset

from eval.distribution import build_distribution, extract_features
from eval.distribution.extractors import NetworkExtractor, to_bytes
from eval.distribution.inception import clean_resize

CPU = torch.device("cpu")
QUIET = {"mode": "clean", "num_workers": 0, "device": CPU, "verbose": False}


@pytest.fixture
def extractor(stub_network):
    """Everything of our Inception path but its weights."""
    return NetworkExtractor("stub", 16, lambda pixels: stub_network(clean_resize(pixels)))


def test_resizing_equals_clean_fids_of_the_same_png(folders, tensors):
    for folder, images in zip(folders, tensors, strict=True):
        theirs = ResizeDataset(sorted(folder.glob("*.png")), mode="clean")
        for index in range(0, 24, 5):
            ours = clean_resize(to_bytes(images[index].unsqueeze(0)))[0]
            assert torch.equal(ours, theirs[index])


def test_features_equal_clean_fids(folders, tensors, extractor, stub_network):
    theirs = clean.get_folder_features(str(folders[0]), stub_network, batch_size=5, **QUIET)
    np.testing.assert_allclose(extract_features(extractor, tensors[0], 7), theirs, rtol=1e-6)


def test_fid_equals_clean_fids(folders, tensors, extractor, stub_network):
    theirs = clean.compute_fid(*map(str, folders), custom_feat_extractor=stub_network, use_dataparallel=False, **QUIET)
    result = build_distribution("fid", extractor=extractor).score(*tensors)
    assert theirs > 0.01
    assert result.value == pytest.approx(theirs, rel=1e-6)
    assert (result.count_truth, result.count_images) == (24, 24)


def test_kid_equals_clean_fids(folders, tensors, extractor, stub_network, monkeypatch):
    monkeypatch.setattr(clean, "build_feature_extractor", lambda *args, **kwargs: stub_network)  # it takes none of ours
    theirs = clean.compute_kid(*map(str, folders), use_dataparallel=False, **QUIET)
    result = build_distribution("kid", extractor=extractor).score(*tensors)
    assert abs(theirs) > 1e-3
    assert result.value == pytest.approx(theirs, rel=1e-6)
    assert result.subset_size == 24
    assert "24 images and not 1000" in result.note
