"""`report_motion`: reconstructions, nats of masked tokens and samples of an exported motion prior."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from safetensors.torch import load_file
from torch import Tensor

from g2d2.priors.masked_motion.motion_components import load_motion_components
from g2d2.priors.masked_motion.motion_prior import MaskedMotionPrior
from g2d2.training.figures import Panel, save_curves
from g2d2.training.folders import size_megabytes
from g2d2.training.loop import History, step_generator
from g2d2.training.masked_motion.captured_clips import Clip, read_clips
from g2d2.training.masked_motion.motion_card import motion_card
from g2d2.training.masked_motion.motion_errors import (
    foot_height_errors,
    joint_errors,
    path_errors,
    resting_speed_errors,
)
from g2d2.training.masked_motion.motion_recipe import MotionRecipe
from g2d2.training.masked_motion.motion_samples import sample_motions
from g2d2.training.masked_motion.motion_tokeniser import reconstruct
from g2d2.training.masked_motion.motion_training import cut_clips, whole_windows
from g2d2.training.masked_motion.motion_windows import TokenWindows, encode_windows
from g2d2.training.reporting import count_parameters, write_report
from g2d2.training.run import read_curve, take_device
from g2d2.training.token_statistics import SHARES, code_usage, count_codes, unigram_nats
from operators.skeleton import LONGEST, joints_from_features
from operators.skeleton.feet_heights import low_toes
from operators.skeleton.stick_figures import overview

PROMPTS = (
    "a person walks",
    "a person runs",
    "a person jumps forward",
    "a person is dancing",
    "a person turns left",
    "a person walks backwards",
    "a person sits down",
    "",
)
"""Of the sample sheet, one column each."""
_SHOWN = 8
_SAMPLES = 24
_TILE = 320


def report_motion(
    recipe: MotionRecipe, windows: int = 256, steps: int = 25, log: Callable[[str], None] = print
) -> dict[str, Any]:
    """Measure `out`/export on held-out subjects; write numbers, card, curves and sheets, and return the numbers."""
    parts = load_motion_components(recipe.exported)
    prior = MaskedMotionPrior(parts, device=take_device(recipe))
    clips = read_clips(recipe.data).held_out
    whole = whole_windows(clips, min(LONGEST, prior.x_shape[0]))
    whole = whole[:: -(-len(whole) // windows)]
    made, _ = reconstruct(parts.vqvae, prior.normalisation, whole)
    cuts = cut_clips(clips, 1, recipe.seed)
    encoded = encode_windows(parts.vqvae, prior.normalisation, clips, cuts[:: -(-len(cuts) // windows)])
    trained_on = TokenWindows(**load_file(recipe.out / "tokens.safetensors"))
    codes, own = len(prior.codebook), encoded.tokens[encoded.active].long()
    curves = {name: read_curve(recipe.out, name) for name in ("vqvae", "transformer")}
    numbers: dict[str, Any] = {
        "windows": len(whole),
        "subjects": len({clip.subject for clip in clips}),
        "reconstruction": _reconstruction(made, whole),
        "feet_on_floor": {
            "real": feet_on_floor(whole),
            "reconstruction": feet_on_floor(made),
            "samples": feet_on_floor(_walks(prior, steps)),
        },
        "codes": code_usage(own, codes),
        "encoded": len(encoded),
        "unigram_nats": unigram_nats(own, count_codes(trained_on.tokens[trained_on.active], codes)),
        "nats": {f"{share:.0%}": nats_at(prior, encoded, clips, share) for share in SHARES},
        "action_nats": nats_at(prior, _with_actions(encoded, clips), clips, 1.0),
        "parameters": count_parameters(vars(parts)),
        "megabytes": size_megabytes(recipe.exported),
    }
    write_report(recipe, numbers, curves, motion_card(recipe, numbers, curves), log)
    save_curves(_panels(curves, numbers["unigram_nats"]), recipe.out / "curves.png")
    chosen = torch.linspace(0, len(whole) - 1, _SHOWN).long()
    save_motions([whole[chosen], made[chosen]], recipe.out / "reconstructions.png")
    rows = [
        sample_motions(prior, PROMPTS, [prior.x_shape[0]] * len(PROMPTS), range(8 * row, 8 * row + 8), steps)
        for row in range(2)
    ]
    save_motions(rows, recipe.out / "samples.png")
    return numbers


def _reconstruction(made: Tensor, truth: Tensor) -> dict[str, float]:
    """Errors of whole windows: joints seen from the root, and the root's place in the middle and at the end."""
    path = path_errors(made, truth)
    return {
        "joints_mm": 1000 * joint_errors(made, truth).mean().item(),
        "path_metres": path.mean().item(),
        "drift_metres": path[:, -1].mean().item(),
        "median_drift_metres": path[:, -1].median().item(),
        "feet_mm": 1000 * foot_height_errors(made, truth).mean().item(),
        "resting_feet_speed": resting_speed_errors(made, truth).mean().item(),
        "frames": truth.shape[1],
    }


def feet_on_floor(features: Tensor) -> float:
    """Share of frames in which a toe is on the floor."""
    return low_toes(joints_from_features(features)).any(-1).float().mean().item()


def _walks(prior: MaskedMotionPrior, steps: int) -> Tensor:
    """What it makes of its best-known prompt."""
    return sample_motions(prior, [PROMPTS[0]] * _SAMPLES, [prior.x_shape[0]] * _SAMPLES, range(_SAMPLES), steps)


@torch.no_grad()
def nats_at(
    prior: MaskedMotionPrior, windows: TokenWindows, clips: Sequence[Clip], share: float, batch: int = 32
) -> dict[str, float]:
    """Nats per masked token with this share of each window masked, given the prompt and given none.

    Where tokens are left, `kept` is the mean probability that the prior gives them, with the prompt.
    """
    counts = (share * windows.lengths).round().clamp(min=1)
    order = torch.rand(windows.tokens.shape, generator=step_generator(0, f"mask {share}", 0))
    masked = order.masked_fill(~windows.active, 2.0).argsort(1).argsort(1) < counts[:, None]
    prompts = [(clips[clip].actions or clips[clip].prompts)[-1] for clip in windows.clips.tolist()]
    sums, kept = {"conditional": 0.0, "unconditional": 0.0}, 0.0
    for rows in torch.arange(len(windows)).split(batch):
        truth, where, active = windows.tokens[rows].long(), masked[rows], windows.active[rows]
        shapes = [(int(length) * prior.frames_per_token, prior.x_shape[1]) for length in windows.lengths[rows]]
        for name in sums:
            guidance = [1.0 if name == "conditional" else 0.0] * len(rows)
            condition = prior.condition([prompts[row] for row in rows.tolist()], guidance, shapes)
            z_t = torch.where(where, prior.mask_id, truth).to(prior.device)
            nats = -prior.log_probs(z_t, 1, condition).cpu().gather(1, truth[:, None])[:, 0]
            sums[name] += nats[where].sum().item()
            kept += (-nats[active & ~where]).exp().sum().item() if name == "conditional" else 0
    measured = {name: total / masked.sum().item() for name, total in sums.items()}
    left = (windows.active & ~masked).sum().item()
    return measured | ({"kept": kept / left} if left else {})


def _with_actions(windows: TokenWindows, clips: Sequence[Clip]) -> TokenWindows:
    """Windows whose clips' labels name an action."""
    named = torch.tensor([bool(clips[clip].actions) for clip in windows.clips.tolist()])
    return TokenWindows(windows.tokens[named], windows.lengths[named], windows.clips[named])


def save_motions(rows: Sequence[Tensor], path: Path) -> None:
    """Rows of motions (N, F, 263) as film strips above their paths, row under row."""
    pictures = [[overview(body, width=_TILE) for body in joints_from_features(row.cpu())] for row in rows]
    width, height = pictures[0][0].size
    sheet = Image.new("RGB", (width * len(pictures[0]), height * len(pictures)), "white")
    for line, row in enumerate(pictures):
        for place, picture in enumerate(row):
            sheet.paste(picture, (place * width, line * height))
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path, optimize=True)


def _panels(curves: dict[str, History], unigram: float) -> list[Panel]:
    tokens = {
        "loss": ("training batch, masked tokens", "#c9c9c9"),
        "held_out_nats": ("held out, masked tokens", "#b5462f"),
        "held_out_kept": ("held out, kept tokens", "#2f7d5b"),
    }
    return [
        Panel("Tokeniser", "mm", curves["vqvae"], {"held_out_mm": ("joints, held out", "#1f5fa8")}),
        Panel("Root after 196 frames", "m", curves["vqvae"], {"held_out_drift": ("drift, held out", "#1f5fa8")}),
        Panel("Feet at rest", "m/s", curves["vqvae"], {"held_out_slide": ("error, held out", "#1f5fa8")}),
        Panel("Prior", "nats per token", curves["transformer"], tokens, ("unigram", unigram)),
    ]
