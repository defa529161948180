"""Metrics by name: settings, results with their counts, and what is left out or refused."""

import numpy as np
import pytest
import torch

from eval.distribution import (
    Moments,
    build_distribution,
    distribution_names,
    distribution_settings,
    frechet_distance,
    kernel_distance,
    load_extractor,
)
from eval.distribution.extractors import NetworkExtractor
from operators import InputError


@pytest.fixture
def extractor():
    """The mean and the corners of each channel: (B, 15)."""

    def embed(pixels):
        x = pixels.float() / 255
        return torch.cat([x.mean(dim=(2, 3)), x[..., [0, 0, -1, -1], [0, -1, 0, -1]].flatten(1)], dim=1)

    return NetworkExtractor("corners", 15, embed)


@pytest.fixture
def images():
    return torch.rand(40, 3, 32, 32, generator=torch.Generator().manual_seed(0)) * 2 - 1


def features(n=30, dim=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)


def test_the_names():
    assert distribution_names("image") == ["fid", "kid", "fd_vgg16", "kd_vgg16"]
    assert set(distribution_names()) == {*distribution_names("image"), *distribution_names("motion")}
    assert "reference" not in distribution_settings("fd_vgg16").model_fields


@pytest.mark.parametrize("name", distribution_names("image"))
def test_score_is_the_distance_of_the_features(name, extractor, images):
    metric = build_distribution(name, {"batch_size": 7}, extractor=extractor)
    result = metric.score(images[:16], images[16:])
    f, g = extractor(images[:16]), extractor(images[16:])
    if "fd" in name or name == "fid":
        expected = frechet_distance(Moments.from_features(f), Moments.from_features(g))
    else:
        expected = kernel_distance(f, g)
    assert result.value == pytest.approx(expected, rel=1e-12)
    assert (result.name, result.count_truth, result.count_images) == (name, 16, 24)
    assert result.unavailable is None


def test_images_may_come_alone_in_batches_and_in_any_size(extractor, images):
    metric = build_distribution("fd_vgg16", {"batch_size": 4}, extractor=extractor)
    mixed = [images[0], images[1:12], images[12, :, :20, :24], *images[13:20]]
    small = [image.unsqueeze(0) for image in mixed[:1]] + [images[1:12], mixed[2].unsqueeze(0), images[13:20]]
    g = np.concatenate([extractor(batch) for batch in small])
    result = metric.score(iter(images[20:]), iter(mixed))
    assert result.value == pytest.approx(metric.distance(extractor(images[20:]), g).value, rel=1e-9)
    assert result.count_images == 20


def test_images_that_are_not_finite_are_left_out_and_counted(extractor, images):
    spoilt = images.clone()
    spoilt[3, 0, 0, 0], spoilt[17, 2, 9, 9], spoilt[30] = float("nan"), float("inf"), float("-inf")
    for name in ("fid", "kid"):
        metric = build_distribution(name, extractor=extractor)
        result = metric.score(spoilt[:20], spoilt[20:])
        assert (result.left_out_truth, result.left_out_images) == (2, 1)
        assert (result.count_truth, result.count_images) == (18, 19)
        kept = [row for row in range(40) if row not in (3, 17, 30)]
        assert result.value == metric.score(images[kept[:18]], images[kept[18:]]).value


def test_values_outside_the_range_are_clamped_as_a_picture_would_be(extractor, images):
    wild = images * 2
    np.testing.assert_array_equal(extractor(wild), extractor(wild.clamp(-1, 1)))


def test_moments_from_workers_give_the_same_as_features():
    f, g = features(), features(seed=1)
    metric = build_distribution("fid")
    parts = [Moments.from_features(part) for part in np.split(g, [4, 5, 20])]
    merged = metric.distance(Moments.from_features(f), Moments.merged(reversed(parts)))
    assert merged.value == pytest.approx(metric.distance(f, g).value, rel=1e-10)
    assert merged.count_images == 30
    with pytest.raises(InputError, match="kid got moments"):
        build_distribution("kid").distance(Moments.from_features(f), g)


@pytest.mark.parametrize("name", distribution_names("image"))
@pytest.mark.parametrize("count", [0, 1])
def test_too_few_images_are_a_reason_and_not_an_error(name, count):
    result = build_distribution(name).distance(features(), features(count))
    assert result.value is None
    assert f"at least 2 finite images on each side: there are {count} images." in result.unavailable
    assert (result.count_truth, result.count_images) == (30, count)


def test_images_lost_to_nan_can_be_what_makes_too_few():
    spoilt = features(3)
    spoilt[:2] = np.nan
    result = build_distribution("fid").distance(spoilt, features())
    assert result.left_out_truth == 2
    assert "1 ground truths" in result.unavailable


def test_notes_say_what_a_small_set_does_to_the_value():
    few = build_distribution("fid").distance(features(6), features(30))
    assert "6 images are few for 6 features" in few.note
    assert build_distribution("fid").distance(features(30), features(30)).note is None
    enough = build_distribution("kid", {"subset_size": 20}).distance(features(30), features(25))
    assert (enough.note, enough.subset_size) == (None, 20)


def test_kernel_settings_decide_the_subsets():
    f, g = features(40), features(50, seed=1)
    first = build_distribution("kid", {"subset_size": 10, "subsets": 3, "seed": 1}).distance(f, g)
    assert first.value == kernel_distance(f, g, subsets=3, subset_size=10, seed=1)
    assert first.value != build_distribution("kid", {"subset_size": 10, "subsets": 3}).distance(f, g).value


def test_results_are_plain_data():
    result = build_distribution("kid").distance(features(), features(seed=1))
    assert type(result).model_validate_json(result.model_dump_json()) == result


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: build_distribution("fdi"), "it must be one of fid, kid"),
        (lambda: build_distribution("fid", {"subsets": 3}), "unknown setting 'subsets'"),
        (lambda: build_distribution("kid", {"subset_size": 1}), "subset_size is 1"),
        (lambda: build_distribution("fid", {"reference": "ffhq"}), "reference is 'ffhq'"),
        (lambda: build_distribution("fid", {"reference": "../x/256/train"}), "reference is '../x/256/train'"),
        (lambda: build_distribution("fd_vgg16", {"reference": "ffhq/256/trainval"}), "unknown setting 'reference'"),
        (lambda: build_distribution("fid").distance(None, features()), "no ground truths"),
        (lambda: build_distribution("fid").distance(features(), features(dim=7)), "as many"),
        (lambda: load_extractor("resnet"), "one of inception, vgg16"),
        (lambda: load_extractor("vgg16", device="abacus"), "device is 'abacus'"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert sentence in str(caught.value)


@pytest.mark.parametrize("wrong", [torch.zeros(4, 2, 8, 8), torch.zeros(4, 3, 8, 8, dtype=torch.uint8), torch.zeros(8)])
def test_images_of_another_kind_are_refused(extractor, wrong):
    with pytest.raises(InputError, match=r"\(B, 3, H, W\)"):
        build_distribution("fid", extractor=extractor).score([wrong], [wrong])


def test_a_grey_image_is_one_of_three_equal_channels(extractor):
    grey = torch.rand(4, 1, 8, 8) * 2 - 1
    assert (extractor(grey) == extractor(grey.repeat(1, 3, 1, 1))).all()
