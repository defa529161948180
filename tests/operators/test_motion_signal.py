"""The signal `motion`: stored, shown, and refused where a clip is none."""

import io
import re

import pytest
import torch
from PIL import Image

from operators import InputError, find_signal
from operators.signals.motion import SHORTEST, key_points
from operators.skeleton import LONGEST, features_from_joints
from operators.skeleton.stick_figures import top_view
from tests.operators.skeleton.clips import published, walker

MOTION = find_signal("motion")


def clip(frames=60, **walk):
    return features_from_joints(walker(frames + 1, **walk)[None])[0]


def test_a_clip_comes_back_as_it_was_stored():
    x = clip(LONGEST, speed=0.06, turn=0.05)
    stored = MOTION.decode(MOTION.encode(x), "x")
    assert (stored[:, :4] == x[:, :4]).all(), "the root's features are summed up over all frames"
    assert (MOTION.joints(stored) - MOTION.joints(x)).abs().max() < 1e-3
    assert torch.equal(MOTION.decode(MOTION.encode(stored), "x"), stored)
    assert len(MOTION.encode(x)) < 0.55 * 4 * x.numel()


def test_a_published_clip_is_no_problem_and_is_stored_to_half_a_millimetre():
    x = published("012314-features.npy").float()
    assert MOTION.problem(x) is None
    assert (MOTION.joints(MOTION.decode(MOTION.encode(x), "x")) - MOTION.joints(x)).abs().max() < 6e-4


@pytest.mark.parametrize("content", [b"", b"no motion at all", MOTION.encode(clip(30))[:-1], b"G2MV" + 20 * b"\xff"])
def test_bytes_that_are_no_motion_are_refused(content):
    with pytest.raises(InputError, match=r"row 3: its .* bytes"):
        MOTION.decode(content, "row 3")


@pytest.mark.parametrize(
    ("x", "sentence"),
    [
        (torch.zeros(60, 66), r"it has shape \(60, 66\): a motion has 263 features in every frame"),
        (torch.zeros(SHORTEST - 1, 263), "too short with 19 frames: at least 20"),
        (torch.zeros(LONGEST + 1, 263), "too long with 197 frames: at most 196"),
        (clip().index_fill(0, torch.tensor([7, 9]), torch.nan), "in 2 of 60 frames, frame 7 the first"),
        (clip().index_fill(0, torch.tensor([5]), -7e4), "a feature of frame 5 is 7e[+]04: it must be within 65504"),
        (clip(100, speed=30.0), "its root gets 2.97e[+]03 m away from its start"),
    ],
)
def test_what_is_no_clip_is_said(x, sentence):

    assert re.search(sentence, MOTION.problem(x))


def test_a_walk_is_no_problem():
    assert MOTION.problem(clip()) is None
    assert MOTION.words((60, 263)) == "of 60 frames (3.0 s)"


@pytest.mark.parametrize("shape", [(60,), (60, 66), (0, 263), (197, 263), (3, 32, 32)])
def test_shapes_that_no_motion_has(shape):
    with pytest.raises(InputError, match="x_shape is"):
        MOTION.check_shape(shape)


def test_clips_of_several_lengths_share_a_batch():
    batch = MOTION.stack([clip(60), clip(30)])
    assert batch.shape == (2, 60, 263)
    assert not batch[1, 30:].any()
    assert MOTION.batch_shape((60, 263)) == MOTION.batch_shape((30, 263))


def opened(content):
    return Image.open(io.BytesIO(content))


def test_a_preview_shows_figures_and_the_path():
    picture = opened(MOTION.preview(clip(80, turn=0.05))).convert("RGB")
    assert picture.format is None
    assert picture.width == 256
    colours = picture.getcolors(2**16)
    assert len(colours) > 50
    plain = opened(MOTION.preview(torch.full((30, 263), torch.nan)))
    assert plain.size == picture.size


def test_an_animation_has_every_frame():
    x = clip(30)
    film = opened(MOTION.animation(x, torch.zeros(2, 1, 3)))
    assert film.format == "GIF"
    assert film.n_frames == 30
    assert film.info["duration"] == 50


def test_a_turn_to_the_left_goes_to_the_left():
    """x is the left of a body that faces +z, and z is up on the page."""
    path = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 2.0]]).double().numpy()
    picture = top_view(path, path[2:], 200, 200)
    purple = [(x, y) for x in range(200) for y in range(200) if (p := picture.getpixel((x, y)))[2] > 120 and p[1] < 100]
    assert purple
    assert max(x for x, _ in purple) < 100
    assert max(y for _, y in purple) < 100


def test_key_points_of_measurements():
    y = torch.arange(12.0).view(2, 2, 3)
    assert key_points(y).tolist() == [[0, 2], [3, 5], [6, 8], [9, 11]]
    assert key_points(y[..., :2]).tolist() == [[0, 1], [3, 4], [6, 7], [9, 10]]
    assert key_points(torch.zeros(3, 4)) is None
    assert opened(MOTION.preview_measurement(y)).format == "PNG"
    assert MOTION.preview_measurement(torch.zeros(3, 4)) is None


def purple_pixels(png):
    picture = opened(png).convert("RGB")
    pixels = [picture.getpixel((x, y)) for x in range(picture.width) for y in range(picture.height)]
    return sum(blue > 120 and green < 100 and red > 100 for red, green, blue in pixels)


def test_a_preview_beside_its_measurement_has_its_key_points():
    x = clip(30)
    y = MOTION.joints(x)[[5, 20], :1]
    assert purple_pixels(MOTION.preview_beside(x, y)) > purple_pixels(MOTION.preview(x)) + 10
    assert MOTION.preview_beside(x, None) == MOTION.preview(x)
    assert MOTION.preview_beside(x, torch.zeros(3, 4)) == MOTION.preview(x)
