"""VQ-Diffusion priors with random weights: tiny ones for tests, the published shape for speed and memory."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from diffusers import Transformer2DModel, VQDiffusionScheduler, VQModel
from diffusers.pipelines.deprecated.vq_diffusion.pipeline_vq_diffusion import (
    LearnedClassifierFreeSamplingEmbeddings,
)
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

from g2d2.priors.vq_diffusion.components import Components
from g2d2.priors.vq_diffusion.prior import VQDiffusionPrior


@dataclass(frozen=True)
class Architecture:
    """The numbers that decide the shape of a VQ-Diffusion model."""

    codes: int
    code_width: int
    latent_width: int
    token_side: int
    decoder_channels: tuple[int, ...]
    decoder_layers: int
    norm_groups: int
    transformer_layers: int
    heads: int
    head_width: int
    text_width: int
    text_length: int
    lowest_attention: bool = False
    """Attention in the decoder's blocks at the lowest resolution, beside the middle block's own."""
    train_steps: int = 100
    channels: int = 3
    """Of the images: 1 is grey."""

    def with_layers(self, transformer_layers: int) -> "Architecture":
        return replace(self, transformer_layers=transformer_layers)


TINY = Architecture(
    codes=8,
    code_width=4,
    latent_width=4,
    token_side=4,
    decoder_channels=(8, 8),
    decoder_layers=1,
    norm_groups=4,
    transformer_layers=1,
    heads=2,
    head_width=4,
    text_width=8,
    text_length=16,
    train_steps=10,
)
"""8x8 images of 16 tokens: every test runs in milliseconds."""

ITHQ = Architecture(
    codes=4096,
    code_width=128,
    latent_width=256,
    token_side=32,
    decoder_channels=(64, 128, 256, 512),
    decoder_layers=2,
    norm_groups=32,
    transformer_layers=36,
    heads=16,
    head_width=88,
    text_width=512,
    text_length=77,
    lowest_attention=True,
)
"""The shape of microsoft/vq-diffusion-ithq: 256x256 images, 1024 tokens."""


def random_components(shape: Architecture, seed: int = 0) -> Components:
    """Untrained parts; the caller's random state is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        blocks = len(shape.decoder_channels)
        attention = "Attn" if shape.lowest_attention else ""
        vqvae = VQModel(
            in_channels=shape.channels,
            out_channels=shape.channels,
            down_block_types=("DownEncoderBlock2D",) * (blocks - 1) + (f"{attention}DownEncoderBlock2D",),
            up_block_types=(f"{attention}UpDecoderBlock2D",) + ("UpDecoderBlock2D",) * (blocks - 1),
            block_out_channels=shape.decoder_channels,
            layers_per_block=shape.decoder_layers,
            latent_channels=shape.latent_width,
            vq_embed_dim=shape.code_width,
            num_vq_embeddings=shape.codes,
            norm_num_groups=shape.norm_groups,
            sample_size=shape.token_side * 2 ** (blocks - 1),
        )
        vqvae.quantize.embedding.weight.data.normal_()  # diffusers' own start lets all codes decode alike
        transformer = Transformer2DModel(
            num_attention_heads=shape.heads,
            attention_head_dim=shape.head_width,
            num_layers=shape.transformer_layers,
            cross_attention_dim=shape.text_width,
            attention_bias=True,
            sample_size=shape.token_side,
            num_vector_embeds=shape.codes + 1,
            num_embeds_ada_norm=shape.train_steps,
            activation_fn="geglu-approximate",
            norm_type="ada_norm",
        )
        tokenizer = character_tokenizer(shape.text_length)
        text_encoder = CLIPTextModel(
            CLIPTextConfig(
                vocab_size=len(tokenizer),
                hidden_size=shape.text_width,
                intermediate_size=2 * shape.text_width,
                num_hidden_layers=1,
                num_attention_heads=2,
                max_position_embeddings=shape.text_length,
                bos_token_id=tokenizer.bos_token_id,
                eos_token_id=tokenizer.eos_token_id,
                pad_token_id=tokenizer.pad_token_id,
            )
        )
        blank = LearnedClassifierFreeSamplingEmbeddings(True, shape.text_width, shape.text_length)
        blank.embeddings.data.normal_()
    scheduler = VQDiffusionScheduler(num_vec_classes=shape.codes + 1, num_train_timesteps=shape.train_steps)
    return Components(vqvae, transformer, scheduler, text_encoder, tokenizer, blank)


def random_prior(shape: Architecture = TINY, seed: int = 0, **options: Any) -> VQDiffusionPrior:
    """A prior that knows nothing but runs like a trained one."""
    return VQDiffusionPrior(random_components(shape, seed), **options)


def character_tokenizer(length: int) -> CLIPTokenizer:
    """A CLIP tokenizer whose vocabulary is single characters."""
    letters = [chr(code) for code in range(33, 127)]
    words = ["<|startoftext|>", "<|endoftext|>", *letters, *(letter + "</w>" for letter in letters)]
    return CLIPTokenizer(vocab={word: i for i, word in enumerate(words)}, merges=[], model_max_length=length)
