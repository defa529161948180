"""The model card of an exported motion prior, from its recipe, its numbers and its curves."""

import math
from typing import Any

from g2d2.training.loop import History
from g2d2.training.masked_motion.captured_clips import ACKNOWLEDGEMENT
from g2d2.training.masked_motion.motion_recipe import MotionRecipe
from g2d2.training.reporting import nats_rows, training_line
from operators.skeleton import FPS, LONGEST

_CARD = """# Masked prior of human motion

A small masked token model of human motion in HumanML3D's 263 features at {fps} frames a second, in the shape of MMM
(Pinyoanuntapong et al., CVPR 2024): a VQ-VAE over frames and a masked transformer over its tokens, conditioned on text.

| | |
|---|---|
| data | {acknowledgement} |
| clips | 22 joints of one body, {fps} frames a second, each recording once, with mirror images; split by subject |
| motions | up to {frames} frames |
| tokens | up to {tokens} of {codes} codes, dimension {code_width}, four frames each |
| tokeniser | `MotionVQVAE`, width {width}, {vqvae:,} parameters |
| prior | `MotionTransformer`, {word_layers} + {layers} layers of width {token_width}, {transformer:,} parameters |
| ids | end {codes}, padding {pad}, mask {mask} |
| prompts | "a person walks" and so on, through a `CLIPTextModelWithProjection` of {text:,} parameters |
| masking | cosine, no timestep; the loss covers masked tokens and, with weight {kept}, those left |
| training | tokeniser {vqvae_training}; prior {training} |
| size | {megabytes:.1f} MB of float16 safetensors and configuration |

The loss of the tokeniser counts the distance between the true and the recovered path of the root, not only features:
velocities that are right on average add up to a place that is not. It also counts how high feet are, in metres, and how
fast they move over the floor while they rest. Training clips stand where their toes rest, and not where the lowest
point of any frame is; those whose floor is not level, such as stairs, are left out.{start}

## Held-out numbers

Over {windows} windows of {frames} frames and {encoded} of any length, of {subjects} subjects held out of training.

| reconstruction from the true tokens | |
|---|---|
| joints, seen from the root | {joints_mm:.0f} mm |
| root on the floor, mean over frames | {path_metres:.2f} m |
| root on the floor after {frames} frames | {drift_metres:.2f} m, median {median_drift_metres:.2f} m |
| ankles and toes, in height | {feet_mm:.0f} mm |
| ankles and toes that rest, over the floor | {resting_feet_speed:.2f} m/s |
| codes used | {used} of {codes}, perplexity {perplexity:.0f} |

A toe is below 5 cm in {real:.0%} of the frames of these windows, in {reconstruction:.0%} of their reconstructions' and
in {samples:.0%} of those of samples of "a person walks".

Nats per masked token. Without context, the training frequencies of the codes pay {unigram:.2f}
(perplexity {unigram_perplexity:.0f}).

| masked | with the prompt | perplexity | with the empty prompt | perplexity | a token left keeps its place with p |
|---|---|---|---|---|---|
{nats}

Prompts are the action that a label names, or the label where it names none. Over the windows with a named action alone,
all of them masked: {action_nats:.3f} nats with the prompt, {actionless_nats:.3f} with the empty one.

## Limits

It is a demonstration and test prior. It knows the actions that the database has much of (walking above all) and little
of others; labels are terse, so prompts beyond "a person walks", "a person runs" or "a person jumps" mean little to it.
{verdict}
"""


_START = """

Training went on from an earlier prior of the same shape: steps and minutes above are those of the second run alone."""


def motion_card(recipe: MotionRecipe, numbers: dict[str, Any], curves: dict[str, History]) -> str:
    """The card as Markdown."""
    count, codes = numbers["parameters"], numbers["codes"]
    return _CARD.format(
        acknowledgement=ACKNOWLEDGEMENT,
        fps=FPS,
        start="" if recipe.start is None else _START,
        frames=numbers["reconstruction"]["frames"],
        tokens=LONGEST // 4,
        codes=codes["total"],
        code_width=recipe.vqvae.code_width,
        width=recipe.vqvae.width,
        vqvae=count["vqvae"],
        word_layers=recipe.transformer.word_layers,
        layers=recipe.transformer.layers,
        token_width=recipe.transformer.width,
        transformer=count["transformer"],
        pad=codes["total"] + 1,
        mask=codes["total"] + 2,
        text=count["text_encoder"],
        kept=recipe.transformer.kept_weight,
        vqvae_training=training_line(curves["vqvae"], recipe.vqvae.batch, f"windows of {recipe.vqvae.window} frames"),
        training=training_line(curves["transformer"], recipe.transformer.batch, "windows"),
        megabytes=numbers["megabytes"],
        windows=numbers["windows"],
        encoded=numbers["encoded"],
        subjects=numbers["subjects"],
        **{name: value for name, value in numbers["reconstruction"].items() if name != "frames"},
        **numbers["feet_on_floor"],
        used=codes["used"],
        perplexity=codes["perplexity"],
        unigram=numbers["unigram_nats"],
        unigram_perplexity=math.exp(numbers["unigram_nats"]),
        action_nats=numbers["action_nats"]["conditional"],
        actionless_nats=numbers["action_nats"]["unconditional"],
        nats=nats_rows(numbers["nats"]),
        verdict=_verdict(numbers),
    )


def _verdict(numbers: dict[str, Any]) -> str:
    """Whether prompts help on people it never saw, with everything masked."""

    def helps(nats: dict[str, float]) -> str:
        return "help" if nats["conditional"] < nats["unconditional"] else "do not help"

    return (
        f"On subjects held out of training, prompts {helps(numbers['nats']['100%'])} over all windows, and\n"
        f"{helps(numbers['action_nats'])} over those whose label names an action."
    )
