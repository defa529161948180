"""Masked image priors with random weights: a tiny one for tests, the published shapes for speed and memory."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from diffusers import AmusedScheduler, UVit2DModel, VQModel
from transformers import CLIPTextConfig, CLIPTextModelWithProjection

from g2d2.priors.masked_image.masked_components import MaskedParts
from g2d2.priors.masked_image.masked_layout import MICRO_CONDITIONS
from g2d2.priors.masked_image.masked_prior import MaskedImagePrior
from g2d2.priors.vq_diffusion.random_weights import character_tokenizer


@dataclass(frozen=True)
class MaskedArchitecture:
    """The numbers that decide the shape of an aMUSEd."""

    codes: int
    vocabulary: int
    code_width: int
    token_side: int
    vq_channels: tuple[int, ...]
    vq_layers: int
    norm_groups: int
    width: int
    block_width: int
    block_heads: int
    blocks: int
    layers: int
    heads: int
    inner_width: int
    micro_width: int
    text_width: int
    pooled_width: int
    text_layers: int
    text_heads: int
    text_length: int
    text_vocabulary: int | None = None
    """None: that of a tokenizer of characters."""
    halved: bool = False
    """The transformer works at half the tokens' resolution."""

    def with_layers(self, layers: int, text_layers: int) -> "MaskedArchitecture":
        """The same but for the depth of transformer and text encoder."""
        return replace(self, layers=layers, text_layers=text_layers)


TINY_MASKED = MaskedArchitecture(
    codes=8,
    vocabulary=12,
    code_width=4,
    token_side=4,
    vq_channels=(8, 8),
    vq_layers=1,
    norm_groups=4,
    width=32,
    block_width=32,
    block_heads=2,
    blocks=1,
    layers=1,
    heads=2,
    inner_width=32,
    micro_width=4,
    text_width=8,
    pooled_width=16,
    text_layers=2,
    text_heads=2,
    text_length=16,
)
"""8x8 images of 16 tokens: every test runs in milliseconds."""

AMUSED_256 = MaskedArchitecture(
    codes=8192,
    vocabulary=8256,
    code_width=64,
    token_side=16,
    vq_channels=(128, 256, 256, 512, 768),
    vq_layers=2,
    norm_groups=32,
    width=1024,
    block_width=768,
    block_heads=12,
    blocks=3,
    layers=22,
    heads=16,
    inner_width=2816,
    micro_width=256,
    text_width=768,
    pooled_width=768,
    text_layers=12,
    text_heads=12,
    text_length=77,
    text_vocabulary=49408,
)
"""The shape of amused/amused-256: 256x256 images, 256 tokens."""

AMUSED_512 = replace(AMUSED_256, token_side=32, halved=True)
"""The shape of amused/amused-512: 512x512 images, 1024 tokens."""


def random_masked_parts(shape: MaskedArchitecture = TINY_MASKED, seed: int = 0) -> MaskedParts:
    """Untrained parts; the caller's random state is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        vqvae = _vqvae(shape)
        transformer = _transformer(shape)
        tokenizer = character_tokenizer(shape.text_length)
        text_encoder = CLIPTextModelWithProjection(
            CLIPTextConfig(
                vocab_size=shape.text_vocabulary or len(tokenizer),
                hidden_size=shape.text_width,
                projection_dim=shape.pooled_width,
                intermediate_size=4 * shape.text_width,
                num_hidden_layers=shape.text_layers,
                num_attention_heads=shape.text_heads,
                max_position_embeddings=shape.text_length,
                bos_token_id=tokenizer.bos_token_id,
                eos_token_id=tokenizer.eos_token_id,
                pad_token_id=tokenizer.pad_token_id,
            )
        )
    scheduler = AmusedScheduler(mask_token_id=shape.vocabulary - 1)
    return MaskedParts(vqvae, transformer, scheduler, text_encoder, tokenizer)


def random_masked_prior(shape: MaskedArchitecture = TINY_MASKED, seed: int = 0, **options: Any) -> MaskedImagePrior:
    """A prior that knows nothing but runs like a trained one."""
    return MaskedImagePrior(random_masked_parts(shape, seed), **options)


def _vqvae(shape: MaskedArchitecture) -> VQModel:
    levels = len(shape.vq_channels)
    vqvae = VQModel(
        down_block_types=("DownEncoderBlock2D",) * levels,
        up_block_types=("UpDecoderBlock2D",) * levels,
        block_out_channels=shape.vq_channels,
        layers_per_block=shape.vq_layers,
        latent_channels=shape.code_width,
        num_vq_embeddings=shape.codes,
        norm_num_groups=shape.norm_groups,
        mid_block_add_attention=False,
        lookup_from_codebook=True,
        force_upcast=True,
    )
    vqvae.quantize.embedding.weight.data.normal_()  # diffusers' own start lets all codes decode alike
    return vqvae


def _transformer(shape: MaskedArchitecture) -> UVit2DModel:
    return UVit2DModel(
        hidden_size=shape.width,
        cond_embed_dim=shape.pooled_width,
        micro_cond_encode_dim=shape.micro_width,
        micro_cond_embed_dim=MICRO_CONDITIONS * shape.micro_width,
        encoder_hidden_size=shape.text_width,
        vocab_size=shape.vocabulary,
        codebook_size=shape.codes,
        in_channels=shape.block_width,
        block_out_channels=shape.block_width,
        num_res_blocks=shape.blocks,
        downsample=shape.halved,
        upsample=shape.halved,
        block_num_heads=shape.block_heads,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.inner_width,
        sample_size=shape.token_side,
    )
