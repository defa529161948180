"""`train_motion`: clips, tokeniser, tokens, prior, export, in this order and resumable at every point."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from g2d2.priors.masked_motion.motion_components import load_normalisation, save_normalisation
from g2d2.priors.masked_motion.motion_vqvae import MotionVQVAE
from g2d2.training.folders import halved, replacing
from g2d2.training.loop import run_stage
from g2d2.training.masked_motion.captured_clips import Clip, Clips, read_clips
from g2d2.training.masked_motion.level_floors import on_floor, on_level_floors
from g2d2.training.masked_motion.motion_recipe import MotionRecipe
from g2d2.training.masked_motion.motion_tokeniser import MotionVQVAEStage, WindowDraw
from g2d2.training.masked_motion.motion_tokens import MotionTokenPrior, MotionTransformerStage
from g2d2.training.masked_motion.motion_windows import (
    TokenWindows,
    at_tempo,
    cut,
    encode_windows,
    encoded_once,
    joined,
)
from g2d2.training.masked_motion.motion_words import common_words
from g2d2.training.run import claim, take_device, write_curve
from g2d2.training.vq_diffusion.prompt_text import save_tokenizer
from operators.errors import InputError
from operators.skeleton import LONGEST, MotionNormalisation

_REPORTED = 96
"""Held-out windows that are measured while training goes on."""


def train_motion(recipe: MotionRecipe, log: Callable[[str], None] = print) -> Path:
    """Train both stages, or go on where an earlier run stopped; return the exported folder."""
    claim(recipe)
    device = take_device(recipe)
    clips = read_clips(recipe.data)
    level = on_level_floors(clips.train)
    words = common_words(level if recipe.start is None else clips.train)
    log(
        f"{len(level)} training clips with mirror images, {len(clips.train) - len(level)} left out for floors that are"
        f" not level, {len(clips.held_out)} held out, on {device}; a toe is on the floor in {on_floor(level):.0%} of"
        f" the training frames, in {on_floor(clips.train):.0%} as they were read"
    )
    clips = Clips(level, clips.held_out)
    if recipe.start is None:
        normalisation = MotionNormalisation.from_clips([clip.features for clip in clips.train])
    else:
        normalisation = load_normalisation(recipe.start)

    encoded = recipe.out / "tokens.safetensors"
    vqvae = _tokeniser(recipe, clips, normalisation, encoded.exists(), device)
    log("encoding the training clips")
    windows = encoded_once(
        encoded,
        lambda: joined(
            [_at_one_tempo(recipe, vqvae, normalisation, clips.train, t) for t in recipe.transformer.tempos]
        ),
    )
    few = cut_clips(clips.held_out, 1, recipe.seed)
    held_out = encode_windows(vqvae, normalisation, clips.held_out, few[:: max(1, len(few) // _REPORTED)])
    stage = MotionTransformerStage(
        recipe, vqvae.codebook, (windows, clips.train), (held_out, clips.held_out), words, device
    )
    if recipe.start is not None:
        stage.start_from(recipe.start)

    def export() -> None:
        export_motion(recipe.exported, vqvae, stage.average, normalisation)

    write_curve(recipe.out, stage.name, run_stage(stage, recipe.transformer_limits, recipe.out, on_save=export))
    export()
    log(f"exported to {recipe.exported}")
    return recipe.exported


def _at_one_tempo(
    recipe: MotionRecipe, vqvae: MotionVQVAE, normalisation: MotionNormalisation, clips: list[Clip], tempo: float
) -> TokenWindows:
    """Training windows as if everybody had been that much faster."""
    heard = [replace(clip, features=at_tempo(clip.features, tempo)) for clip in clips]
    return encode_windows(vqvae, normalisation, heard, cut_clips(heard, recipe.transformer.passes, recipe.seed))


def cut_clips(clips: list[Clip], passes: int, seed: int) -> list[tuple[int, int, int]]:
    """Windows of clips, as `cut` makes them."""
    return cut([len(clip.features) for clip in clips], passes, seed)


def whole_windows(clips: list[Clip], frames: int = LONGEST) -> Tensor:
    """Windows of the longest length, one after the other through each clip. (N, frames, 263)"""
    windows = [
        clip.features[start : start + frames].float()
        for clip in clips
        for start in range(0, len(clip.features) - frames + 1, frames)
    ]
    if not windows:
        raise InputError(f"data: no clip of a subject that is held out has {frames} frames.")
    return torch.stack(windows)


def _tokeniser(
    recipe: MotionRecipe, clips: Clips, normalisation: MotionNormalisation, frozen: bool, device: torch.device
) -> MotionVQVAE:
    """The trained tokeniser; frozen once tokens were made with it."""
    windows = whole_windows(clips.held_out)
    windows = windows[:: -(-len(windows) // _REPORTED)]
    draw = WindowDraw(clips.train, recipe.vqvae.window)
    stage = MotionVQVAEStage(recipe, draw, windows, normalisation, device)
    if recipe.start is not None:
        stage.start_from(recipe.start)
    write_curve(recipe.out, stage.name, run_stage(stage, recipe.vqvae_limits, recipe.out, frozen=frozen))
    return stage.vqvae.eval().requires_grad_(False)  # type: ignore[no-any-return]


def export_motion(
    folder: Path, vqvae: MotionVQVAE, prior: MotionTokenPrior, normalisation: MotionNormalisation
) -> None:
    """Write every component under its own subfolder, weights in float16; a prior makes float32 of them again."""
    with replacing(folder) as fresh:
        halved(vqvae).save_pretrained(fresh / "vqvae")
        halved(prior.transformer).save_pretrained(fresh / "transformer")
        halved(prior.text_encoder).save_pretrained(fresh / "text_encoder")
        save_tokenizer(prior.tokenizer, prior.words, fresh / "tokenizer")
        save_normalisation(fresh, normalisation)
