"""The model card of an exported prior, from its recipe, its numbers and its curves."""

import math
import re
from typing import Any

from g2d2.training.heldout import ATTRIBUTION
from g2d2.training.loop import History
from g2d2.training.reporting import nats_rows, reconstruction_rows
from g2d2.training.vq_diffusion.vq_recipe import VQDiffusionRecipe

_CARD = """# CIFAR-10 VQ-Diffusion prior

A small VQ-Diffusion model of 32x32 photographs, in diffusers' own folder layout. Every component loads with its own
class and `subfolder=`; a stock `VQDiffusionPipeline` built from the components generates.

| | |
|---|---|
| data | CIFAR-10 training split with mirror images; {attribution} |
| tokens | {side}x{side} of {codes} codes, dimension {code_dim} |
| tokeniser | `VQModel`, channels {channels}, no mid-block attention, {vqvae_parameters:,} parameters |
| prior | `Transformer2DModel`, {layers} layers of width {width}, {transformer_parameters:,} parameters |
| prompts | "a photo of a frog" and so on, through a `CLIPTextModel` of {text_parameters:,} parameters |
| noise process | `VQDiffusionScheduler`, T = {timesteps}, diffusers' defaults |
| training | {training} |
| size | {megabytes:.1f} MB of float32 safetensors and configuration |

## Held-out numbers

Over {images} images of the test split, balanced over classes; the test split was never trained on.

| reconstruction from the true tokens | |
|---|---|
{reconstruction}
| codes used | {used} of {codes}, perplexity {perplexity:.0f} |

Nats per masked token. Without context, the training frequencies of the codes pay {unigram:.2f}
(perplexity {unigram_perplexity:.0f}).

| masked | with the prompt | perplexity | without a prompt | perplexity | a token left keeps its place with p |
|---|---|---|---|---|---|
{nats}

## Limits

It is a demonstration and test prior for CIFAR-10 at 32x32 and nothing beyond. What it knows is what the table says;
look at its samples before relying on it for more than colour, texture and rough layout. Prompts other than the ten
it was trained on are accepted but mean little to it. The tokeniser mutes saturated colours a little.
"""


def model_card(recipe: VQDiffusionRecipe, numbers: dict[str, Any], vqvae: History, transformer: History) -> str:
    """The card as Markdown."""
    count = numbers["parameters"]
    return _CARD.format(
        attribution=ATTRIBUTION.split("; ")[1],
        side=round(numbers["tokens"] ** 0.5),
        codes=recipe.vqvae.codes,
        code_dim=recipe.vqvae.code_dim,
        channels=recipe.vqvae.channels,
        layers=recipe.transformer.layers,
        width=recipe.transformer.heads * recipe.transformer.head_dim,
        timesteps=recipe.transformer.timesteps,
        vqvae_parameters=count["vqvae"],
        transformer_parameters=count["transformer"],
        text_parameters=count["text_encoder"],
        training=_training(recipe, vqvae, transformer),
        megabytes=numbers["megabytes"],
        images=numbers["images"],
        reconstruction=reconstruction_rows(numbers["reconstruction"]),
        used=numbers["codes"]["used"],
        perplexity=numbers["codes"]["perplexity"],
        unigram=numbers["unigram_nats"],
        unigram_perplexity=math.exp(numbers["unigram_nats"]),
        nats=nats_rows(numbers["nats"]),
    )


def _training(recipe: VQDiffusionRecipe, vqvae: History, transformer: History) -> str:
    """What was done, and before it what the card of the prior says that this run started from."""
    images = f"{int(transformer[-1]['step'])} steps of {recipe.transformer.batch} images"
    if recipe.start is None:
        minutes = (vqvae[-1]["seconds"] + transformer[-1]["seconds"]) / 60
        return f"{int(vqvae[-1]['step'])} steps of {recipe.vqvae.batch} images, then {images}: {minutes:.0f} minutes"
    card = recipe.start / "README.md"
    found = re.search(r"^\| training \| (.*) \|$", card.read_text() if card.is_file() else "", flags=re.MULTILINE)
    earlier = found[1] if found else "a prior that was there"
    return f"{earlier}; from there the prior alone, {images}: {transformer[-1]['seconds'] / 60:.0f} minutes"
