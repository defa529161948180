"""The model card of an exported masked prior, from its recipe, its numbers and its curves."""

import math
from typing import Any

from g2d2.training.heldout import ATTRIBUTION
from g2d2.training.loop import History
from g2d2.training.masked_image.masked_settings import MaskedRecipe
from g2d2.training.reporting import nats_rows, reconstruction_rows, training_line

_CARD = """# CIFAR-10 masked image prior

A small masked token model of 32x32 photographs in the folder layout of aMUSEd. Every component loads with its own
class and `subfolder=`; a stock `AmusedPipeline` built from the components generates.

| | |
|---|---|
| data | CIFAR-10 training split with mirror images; {attribution} |
| tokens | {side}x{side} of {codes} codes |
| tokeniser | `VQModel` of the CIFAR-10 VQ-Diffusion prior, made for pixels in [0, 1], {vqvae:,} parameters |
| prior | `UVit2DModel`, {layers} layers of width {width}, {transformer:,} parameters |
| vocabulary | {vocabulary} ids; the mask is {mask_id}, the last, not the first after the codes |
| prompts | "a photo of a frog" and so on, through a `CLIPTextModelWithProjection` of {text:,} parameters |
| masking | cosine; the loss covers masked tokens and, with weight {kept}, those left (aMUSEd's: the masked alone) |
| training | tokeniser {range_training}; prior {training} |
| size | {megabytes:.1f} MB of safetensors, float16 for the prior and float32 for the rest, and configuration |

The tokeniser is the other prior's with its decoder's last layer rescaled, exactly, and its encoder trained to give the
same latents from pixels in [0, 1] (zero padding, grey before, is black now). The codebook is the same.

## Held-out numbers

Over {images} images of the test split, balanced over classes; the test split was never trained on.

| reconstruction from the true tokens | |
|---|---|
{reconstruction}
| codes used | {used} of {codes}, perplexity {perplexity:.0f} |

Nats per masked token. Without context, the training frequencies of the codes pay {unigram:.2f}
(perplexity {unigram_perplexity:.0f}).

| masked | with the prompt | perplexity | with the empty prompt | perplexity | a token left keeps its place with p |
|---|---|---|---|---|---|
{nats}

## Limits

It is a demonstration and test prior for CIFAR-10 at 32x32 and nothing beyond. What it knows is what the table says.
Prompts other than the ten it was trained on are accepted but mean little to it.
"""


def masked_card(recipe: MaskedRecipe, numbers: dict[str, Any], curves: dict[str, History]) -> str:
    """The card as Markdown."""
    count, codes = numbers["parameters"], numbers["codes"]
    return _CARD.format(
        attribution=ATTRIBUTION.split("; ")[1],
        side=math.isqrt(numbers["tokens"]),
        codes=codes["total"],
        vqvae=count["vqvae"],
        layers=recipe.uvit.layers,
        width=recipe.uvit.heads * recipe.uvit.head_dim,
        transformer=count["transformer"],
        vocabulary=numbers["mask_id"] + 1,
        mask_id=numbers["mask_id"],
        text=count["text_encoder"],
        kept=recipe.uvit.kept_weight,
        range_training=training_line(curves["range"], recipe.unit_range.batch),
        training=training_line(curves["uvit"], recipe.uvit.batch),
        megabytes=numbers["megabytes"],
        images=numbers["images"],
        reconstruction=reconstruction_rows(numbers["reconstruction"]),
        used=codes["used"],
        perplexity=codes["perplexity"],
        unigram=numbers["unigram_nats"],
        unigram_perplexity=math.exp(numbers["unigram_nats"]),
        nats=nats_rows(numbers["nats"]),
    )
