"""Masked motion priors with random weights: tiny ones for tests, the published shape for speed and memory."""

from dataclasses import dataclass
from typing import Any

import torch
from transformers import CLIPTextConfig, CLIPTextModelWithProjection

from g2d2.priors.masked_motion.motion_components import MotionComponents
from g2d2.priors.masked_motion.motion_prior import MaskedMotionPrior
from g2d2.priors.masked_motion.motion_transformer import MotionTransformer
from g2d2.priors.masked_motion.motion_vqvae import MotionVQVAE
from g2d2.priors.vq_diffusion.random_weights import character_tokenizer
from operators.skeleton import FEATURES, LONGEST, MotionNormalisation


@dataclass(frozen=True)
class MotionArchitecture:
    """The numbers that decide the shape of a masked motion model."""

    width: int
    depth: int
    codes: int
    code_width: int
    token_width: int
    heads: int
    word_layers: int
    layers: int
    text_width: int
    text_length: int
    longest: int = LONGEST


TINY_MOTION = MotionArchitecture(
    width=32, depth=2, codes=8, code_width=8, token_width=32, heads=2, word_layers=1, layers=1, text_width=32,
    text_length=16, longest=32,
)  # fmt: skip
"""Up to 32 frames of 8 tokens: every test runs in milliseconds."""

MMM = MotionArchitecture(
    width=512, depth=3, codes=8192, code_width=32, token_width=1024, heads=16, word_layers=2, layers=16, text_width=512,
    text_length=77,
)  # fmt: skip
"""The shape that MMM publishes (Pinyoanuntapong et al., CVPR 2024)."""


def random_motion_components(shape: MotionArchitecture = TINY_MOTION, seed: int = 0) -> MotionComponents:
    """All parts, the same for the same seed; torch's own random state is left as it is."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        vqvae = MotionVQVAE(
            width=shape.width,
            depth=shape.depth,
            codes=shape.codes,
            code_width=shape.code_width,
            longest=shape.longest,
        )
        vqvae.codebook.normal_()
        transformer = MotionTransformer(
            codes=shape.codes,
            code_width=shape.code_width,
            tokens=vqvae.num_tokens,
            width=shape.token_width,
            heads=shape.heads,
            word_layers=shape.word_layers,
            layers=shape.layers,
            text_width=shape.text_width,
        )
        transformer.codebook.copy_(vqvae.codebook)
        tokenizer = character_tokenizer(shape.text_length)
        text_encoder = CLIPTextModelWithProjection(
            CLIPTextConfig(
                vocab_size=len(tokenizer),
                hidden_size=shape.text_width,
                projection_dim=shape.text_width,
                intermediate_size=2 * shape.text_width,
                num_hidden_layers=1,
                num_attention_heads=2,
                max_position_embeddings=shape.text_length,
                bos_token_id=tokenizer.bos_token_id,
                eos_token_id=tokenizer.eos_token_id,
                pad_token_id=tokenizer.pad_token_id,
            )
        )
        normalisation = MotionNormalisation(0.1 * torch.randn(FEATURES), 0.05 + 0.1 * torch.rand(FEATURES))
    return MotionComponents(vqvae, transformer, text_encoder, tokenizer, normalisation)


def random_motion_prior(shape: MotionArchitecture = TINY_MOTION, seed: int = 0, **options: Any) -> MaskedMotionPrior:
    """A prior that knows nothing but runs like a trained one."""
    return MaskedMotionPrior(random_motion_components(shape, seed), **options)
