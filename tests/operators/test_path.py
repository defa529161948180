"""Path following: what is seen of a motion, how far off another one is, and what cannot be asked."""

import pytest
import torch

from g2d2.objective import misfit
from operators import InputError, build_operator, find_signal, measure, stack_operators
from operators.skeleton import JOINTS, features_from_joints, joints_from_features
from tests.operators.skeleton.clips import walker

LENGTHS = (80, 41, 60)


def clip(frames, turn=0.04, dtype=torch.float64):
    return features_from_joints(walker(frames + 1, turn=turn, dtype=dtype)[None])[0]


def path(length=80, **settings):
    return build_operator("path", settings, x_shape=(length, 263))


def test_the_pelvis_at_given_frames():
    x = clip(80)
    y = path(frames=[79, 0, 30])(x[None])[0]
    assert torch.equal(y, joints_from_features(x[None])[0, [0, 30, 79], :1])
    flat = path(frames=[79, 0, 30], axes="xz")(x[None])[0]
    assert torch.equal(flat, y[..., 0::2])


def test_other_joints():
    x = clip(80)
    seen = path(joints=["head", "left_wrist"], keyframes="all")
    assert seen.y_shape == (80, 2, 3)
    where = [JOINTS.index("head"), JOINTS.index("left_wrist")]
    assert torch.equal(seen(x[None])[0], joints_from_features(x[None])[0][:, where])


@pytest.mark.parametrize(
    ("keyframes", "count"), [(1, 1), (2, 2), (5, 5), ("5", 5), ("25%", 20), ("1%", 1), ("all", 80), ("100%", 80)]
)
def test_densities(keyframes, count):
    op = path(keyframes=keyframes, seed=3)
    assert op.y_shape == (count, 1, 3)
    assert op.measurement_count == 3 * count
    frames = op.frames[0].tolist()
    assert sorted(set(frames)) == frames
    assert frames == path(keyframes=keyframes, seed=3).frames[0].tolist()


def test_the_seed_decides_the_frames():
    assert len({tuple(path(seed=seed).frames[0].tolist()) for seed in range(20)}) == 20


@pytest.mark.parametrize(("axes", "mean"), [("xyz", 1.5958), ("xz", 1.2533)])
def test_the_misfit_of_noise_alone(axes, mean):
    """Over many draws of noise, key frames of shorter rows among them; the mean length of a normal vector is known."""
    operators = [path(keyframes=30, axes=axes), path(40, keyframes=10, axes=axes)]
    stacked, motion = stack_operators(operators), find_signal("motion")
    truth = motion.stack([clip(80), clip(40)])
    sums = torch.stack([stacked.norm(measure(stacked, truth, sigma=0.05, seeds=[seed, seed + 1000]) - stacked(truth))
                        for seed in range(1000)])  # fmt: skip
    expected = 0.05 * stacked.noise_norm(stacked(truth))
    assert expected.tolist() == pytest.approx([0.05 * 30 * mean, 0.05 * 10 * mean], rel=1e-4)
    assert torch.allclose(sums.mean(0), expected, rtol=0.02)


def test_the_likelihood_is_a_sum_of_distances_not_one_norm():
    """Every one of four key frames is 3-4-0 centimetres off: 4 * 0.05, where one norm would be 0.1."""
    op, x = path(keyframes=4), clip(80)[None]
    y = op(x) + torch.tensor([0.03, 0.0, 0.04], dtype=torch.float64)
    assert torch.allclose(misfit(op, x, y), torch.tensor([0.2], dtype=torch.float64))
    assert torch.allclose(misfit(op, x, y, squared=True), torch.tensor([0.01], dtype=torch.float64))


def test_gradients_are_right_and_finite_where_a_key_frame_is_met_exactly():
    op, x = build_operator("path", {"keyframes": 3}, x_shape=(12, 263)), clip(12)[None].requires_grad_()
    assert torch.autograd.gradcheck(op, (x,))
    value = op.norm(op(x) - op(x).detach())
    (gradient,) = torch.autograd.grad(value.sum(), x)
    assert torch.isfinite(gradient).all()


def test_rows_of_several_lengths_densities_and_joints_are_as_alone_to_the_last_bit():
    choices = ({"keyframes": 5, "seed": 1}, {"keyframes": 2, "joints": ["head"]}, {"keyframes": "25%"})
    operators = [path(length, **choice) for length, choice in zip(LENGTHS, choices, strict=True)]
    clips = [clip(length, 0.05 * row, torch.float32) for row, length in enumerate(LENGTHS)]
    batch = find_signal("motion").stack(clips).requires_grad_()
    stacked = stack_operators(operators)
    y = find_signal("motion").stack([op(x[None])[0] + 0.1 for op, x in zip(operators, clips, strict=True)])
    value = stacked.norm(stacked(batch) - y)
    (gradient,) = torch.autograd.grad(value.sum(), batch)
    for row, (op, x) in enumerate(zip(operators, clips, strict=True)):
        alone = x[None].clone().requires_grad_()
        own = op.norm(op(alone) - y[row : row + 1, : op.y_shape[0]])
        assert torch.equal(own[0], value[row])
        assert torch.equal(torch.autograd.grad(own.sum(), alone)[0][0], gradient[row, : len(x)])
        assert not gradient[row, len(x) :].any()
        part = stacked.select(slice(row, row + 1))
        assert torch.equal(part(batch[row : row + 1].detach())[0, : op.y_shape[0]], op(x[None])[0])


def test_noise_is_drawn_for_a_rows_own_key_frames():
    op, x = path(keyframes=5), clip(80)[None]
    y = measure(op, x, sigma=0.1, seeds=[4])
    assert torch.equal(y, measure(op, x, sigma=0.1, seeds=[4]))
    assert 0.02 < float((y - op(x)).std()) < 0.3
    both = stack_operators([op, path(41, keyframes=2)])
    noise = both.mask_noise(torch.ones(2, 5, 1, 3))
    assert noise[1].sum() == 6


def test_half_precision_is_summed_up_in_single():
    op, x = path(keyframes="all"), clip(80, dtype=torch.float32)[None]
    rounded = x.bfloat16()
    assert op(rounded).dtype == torch.bfloat16
    assert (op(rounded).float() - op(rounded.float())).abs().max() < 0.02


def test_it_runs_on_another_device():
    both = stack_operators([path(keyframes=5), path(41, keyframes=2, joints=["head"])]).to("meta")
    y = both(torch.zeros(2, 80, 263, device="meta"))
    assert both.norm(y).shape == (2,)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"joints": ["hip"]}, "'hip' is no joint"),
        ({"joints": ["head", "head"]}, "name each joint once"),
        ({"joints": []}, "joints"),
        ({"keyframes": 0}, "at least 1 key frame"),
        ({"keyframes": 81}, "keyframes is 81: the clip has 80 frames"),
        ({"keyframes": "half"}, "a count, a share such as 25%, or all"),
        ({"keyframes": "0%"}, "a share such as 25%"),
        ({"frames": [3, 80]}, "frames has 80: the clip ends with frame 79"),
        ({"frames": [3, 3]}, "name each frame once"),
        ({"frames": [-1]}, "counted from 0"),
        ({"axes": "yz"}, "axes"),
    ],
)
def test_what_cannot_be_asked(settings, sentence):
    with pytest.raises(InputError, match=sentence):
        path(**settings)


def test_pictures_have_no_path():
    with pytest.raises(InputError, match=r"a motion has the shape \(frames, 263\)"):
        build_operator("path", {}, x_shape=(3, 32, 32))
