"""The motion prior on tiny settings: clips, prompts, windows, and what each loss teaches."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from g2d2.priors.loading import load_prior
from g2d2.training.masked_motion.captured_clips import joints_of, mirror_joints, read_clips
from g2d2.training.masked_motion.motion_errors import joint_errors, path_errors
from g2d2.training.masked_motion.motion_prompts import actions, mirrored, plain_label, wordings
from g2d2.training.masked_motion.motion_recipe import MotionRecipe, MotionVQVAESettings
from g2d2.training.masked_motion.motion_samples import sample_motions
from g2d2.training.masked_motion.motion_tokeniser import WindowDraw, feature_weights
from g2d2.training.masked_motion.motion_tokens import ragged_masks
from g2d2.training.masked_motion.motion_windows import at_tempo, cut
from g2d2.training.recipes import FAMILIES
from g2d2.training.settings import Recipe, StageLimits
from operators.errors import InputError
from operators.skeleton import FEATURES, features_from_joints, joints_from_features, on_reference_body
from tests.g2d2.training.conftest import stored_joints, walking

Recipes = dict[str, Callable[[Path], Recipe]]


@pytest.fixture(scope="module")
def exported(tiny_recipes: Recipes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return FAMILIES["masked_motion"].train(tiny_recipes["masked_motion"](tmp_path_factory.mktemp("motion")))


def test_clips_are_split_by_subject_with_each_recording_once(motion_file: Path) -> None:
    clips = read_clips(motion_file)
    assert {clip.subject for clip in clips.held_out} == {9, 25, 35}
    assert {clip.subject for clip in clips.train} == {1, 2, 3, 63}
    names = sorted(clip.name for clip in clips.train)
    kept = ("01_01", "01_02", "02_01", "03_01", "64_01")  # 64_01 is 63_01 with a label; 03_02 is too short
    assert names == sorted([*kept, *(f"{name}-mirrored" for name in kept)])
    swing = next(clip for clip in clips.train if clip.name == "64_01")
    assert swing.prompts[1] == "a person swings"
    assert swing.features.shape == (89, FEATURES)


def test_features_are_those_of_the_reference_body(motion_file: Path) -> None:
    clip = next(clip for clip in read_clips(motion_file).held_out if clip.name == "09_01")
    joints = torch.from_numpy(joints_of(stored_joints(walking(210, 6))))[None]
    expected = features_from_joints(on_reference_body(joints))[0]
    assert torch.allclose(clip.features.float(), expected, atol=2e-3)


def test_mirroring_twice_changes_nothing_and_turns_change_their_sign() -> None:
    joints = torch.from_numpy(walking(60, 0)).float()
    assert torch.allclose(mirror_joints(mirror_joints(joints)), joints)
    turning = joints[None].clone()
    angle = torch.linspace(0, 2, 60)[:, None]
    x, z = turning[0, ..., 0].clone(), turning[0, ..., 2].clone()
    turning[0, ..., 0], turning[0, ..., 2] = x * angle.cos() + z * angle.sin(), z * angle.cos() - x * angle.sin()
    speeds = [features_from_joints(some)[0, :, 0].mean().item() for some in (turning, mirror_joints(turning))]
    assert speeds[0] == pytest.approx(-speeds[1], rel=1e-3)
    assert abs(speeds[0]) > 0.005


@pytest.mark.parametrize(
    ("label", "prompts"),
    [
        ("walk, veer left", ("walk, veer left", "a person walks, veers left", "a person is walking, veering left")),
        ("NormalWalk", ("normal walk", "a person walks normal", "a person is walking normal")),
        ("Run", ("run", "a person runs", "a person is running")),
        ("carry a suitcase", ("carry a suitcase", "a person carries a suitcase", "a person is carrying a suitcase")),
        ("chicken (human subject)", ("chicken", "a person moves like a chicken", "a person is moving like a chicken")),
        ("boxing", ("boxing", "a person is boxing", "a person is boxing")),
        ("run/jog (2 subjects - subject A)", ("run, jog", "a person runs, jogs", "a person is running, jogging")),
        ("Lunges001", ("lunges", "a person does lunges", "a person is doing lunges")),
        ("Unknown", ("",)),
        ("180", ("",)),
        ("106_15.amc", ("",)),
    ],
)
def test_labels_become_prompts(label: str, prompts: tuple[str, ...]) -> None:
    assert wordings(label) == prompts


@pytest.mark.parametrize(
    ("label", "action"),
    [
        ("slow walk, veer left", "a person walks"),
        ("RunJog", "a person runs"),
        ("long jumps", "a person jumps"),
        ("jumping jacks, jog", "a person jumps"),
        ("salsa dance", "a person dances"),
    ],
)
def test_actions_are_what_labels_have_in_common(label: str, action: str) -> None:
    assert actions(label)[1] == action
    assert len(actions(label)) == 3


@pytest.mark.parametrize("label", ["monkey (human subject)", "laugh", "Unknown", "sidewalk"])
def test_labels_without_an_action_give_none(label: str) -> None:
    assert actions(label) == ()


def test_a_mirrored_prompt_swaps_sides() -> None:
    assert mirrored("a person turns left, hurt right leg") == "a person turns right, hurt left leg"
    assert plain_label("Left_Blocks") == "left blocks"


def test_windows_stay_inside_their_clip_and_are_whole_tokens() -> None:
    frames = [500, 196, 60, 21]
    windows = cut(frames, passes=3, seed=0)
    assert all(start + size <= frames[clip] and 20 <= size <= 196 and size % 4 == 0 for clip, start, size in windows)
    assert {clip for clip, _, _ in windows} == {0, 1, 2, 3}
    assert windows == cut(frames, passes=3, seed=0) != cut(frames, passes=3, seed=1)
    ends = sum(size == 196 for clip, _, size in windows if clip == 1)
    assert 0 < ends <= 3


def test_another_tempo_walks_the_same_path_in_another_time() -> None:
    features = features_from_joints(torch.from_numpy(walking(121, 0)).float()[None])[0]
    assert at_tempo(features, 1) is features
    for tempo in (0.8, 1.25):
        made = at_tempo(features, tempo)
        assert len(made) == round(120 / tempo)
        ends = [joints_from_features(some[None], joints=[0])[0, -1, 0] for some in (made, features)]
        assert torch.linalg.vector_norm(ends[0] - ends[1]) < 0.03 * torch.linalg.vector_norm(ends[1])
        speeds = [some[:, 193:259].abs().mean().item() for some in (made, features)]
        assert speeds[0] == pytest.approx(tempo * speeds[1], rel=0.1)


def test_masks_are_among_active_tokens_and_follow_the_cosine() -> None:
    active = torch.arange(49) < torch.randint(5, 50, (4096, 1), generator=torch.Generator().manual_seed(0))
    masks = ragged_masks(active, torch.Generator().manual_seed(1))
    assert not (masks & ~active).any()
    assert masks.any(1).all()
    share = (masks.sum(1) / active.sum(1)).mean().item()
    assert share == pytest.approx(2 / torch.pi, abs=0.03)


def test_errors_are_metres() -> None:
    features = features_from_joints(torch.from_numpy(walking(100, 0)).float()[None])
    slower = features.clone()
    slower[..., 2] -= 0.01
    assert path_errors(slower, features)[0, -1].item() == pytest.approx(0.01 * 98, rel=1e-3)
    assert joint_errors(slower, features).item() == 0
    lifted = features.clone()
    lifted[..., 5] += 0.21  # height of the first joint after the root
    assert joint_errors(lifted, features).item() == pytest.approx(0.01, rel=1e-3)
    risen = features.clone()
    risen[..., 3] += 0.1
    risen[..., 5:67:3] += 0.1
    assert joint_errors(risen, features).item() == pytest.approx(0, abs=1e-6)


def test_the_root_weighs_more(motion_file: Path) -> None:
    weights = feature_weights(MotionVQVAESettings(root_weight=5, rotation_weight=0.5))
    assert weights[4:67].sum().item() == pytest.approx(1)
    assert weights[0] == 5 * weights[4]
    assert weights[100] == 0.5 * weights[4]


def test_windows_are_drawn_within_clips(motion_file: Path) -> None:
    clips = read_clips(motion_file).held_out
    drawn = WindowDraw(clips, 60)(64, torch.Generator().manual_seed(0))
    assert drawn.shape == (64, 60, FEATURES)
    for window in drawn[:8]:
        assert any(
            torch.equal(clip.features[start : start + 60].float(), window)
            for clip in clips
            for start in range(len(clip.features) - 59)
        )
    with pytest.raises(InputError, match="no clip has 400 frames"):
        WindowDraw(clips, 400)


def test_the_export_is_a_prior_of_motion(exported: Path) -> None:
    prior = load_prior(exported)
    assert prior.signal == "motion"
    assert prior.x_shape == (196, FEATURES)
    x = sample_motions(prior, ["a person walks", ""], [196, 50], [0, 1], steps=3)
    assert x.shape == (2, 196, FEATURES)
    assert torch.isfinite(x).all()
    assert not x[1, 50:].any()
    assert torch.equal(sample_motions(prior, [""], [50], [1], steps=3)[0], x[1])


def test_what_is_trained_is_what_is_loaded(exported: Path, motion_file: Path) -> None:
    """The exported folder reconstructs held-out motion as the last report of its tokeniser says."""
    prior = load_prior(exported)
    curve = json.loads((exported.parent / "vqvae-curve.json").read_text())
    clips = [clip.features for clip in read_clips(motion_file).held_out]
    windows = torch.stack([features[:196].float() for features in clips if len(features) >= 196])
    tokens = prior.encode(windows)
    made = prior.decode(prior.codebook[tokens].mT)
    assert 1000 * joint_errors(made, windows).mean().item() == pytest.approx(curve[-1]["held_out_mm"], rel=0.02)


def test_the_path_is_learnt_where_it_counts(tiny_recipes: Recipes, tmp_path: Path) -> None:
    path = {}
    for weight in (0.0, 5.0):
        recipe = tiny_recipes["masked_motion"](tmp_path / str(weight))
        assert isinstance(recipe, MotionRecipe)
        vqvae = recipe.vqvae.model_copy(update={"path_weight": weight, "root_weight": 1e-3 + weight, "lr": 5e-3})
        limits = StageLimits(minutes=60, steps=80, report_every=80)
        FAMILIES["masked_motion"].train(recipe.model_copy(update={"vqvae": vqvae, "vqvae_limits": limits}))
        path[weight] = json.loads((recipe.out / "vqvae-curve.json").read_text())[-1]["path"]
    assert path[5.0] < 0.7 * path[0.0]


def test_the_prior_learns_to_keep_what_is_not_masked(tiny_recipes: Recipes, tmp_path: Path) -> None:
    kept = {}
    for weight in (0.0, 1.0):
        recipe = tiny_recipes["masked_motion"](tmp_path / str(weight))
        assert isinstance(recipe, MotionRecipe)
        settings = recipe.transformer.model_copy(update={"kept_weight": weight, "ema_decay": 0.9, "batch": 16})
        limits = StageLimits(minutes=60, steps=100, report_every=100)
        changes = {"transformer": settings, "transformer_limits": limits}
        FAMILIES["masked_motion"].train(recipe.model_copy(update=changes))
        kept[weight] = json.loads((recipe.out / "transformer-curve.json").read_text())[-1]["held_out_kept"]
    assert kept[1.0] < 1.0 < 1.5 < kept[0.0]


def test_bad_data_is_refused_in_one_sentence(tmp_path: Path, motion_file: Path) -> None:
    with pytest.raises(InputError, match=r"lacks cmu-joints\.parquet"):
        read_clips(tmp_path)
    with pytest.raises(InputError, match="it is not fetched"):
        read_clips(None)
    (tmp_path / "other.parquet").write_bytes(b"not a table")
    with pytest.raises(InputError, match="no table of clips"):
        read_clips(tmp_path / "other.parquet")
    pq.write_table(pa.table({"clip": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match="columns clip, subject, label, joints"):
        read_clips(tmp_path / "other.parquet")
    alone = pq.read_table(motion_file).filter(pa.array(np.arange(10) < 2))
    pq.write_table(alone, tmp_path / "cmu-joints.parquet")
    with pytest.raises(InputError, match="too few subjects"):
        read_clips(tmp_path)
