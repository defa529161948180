"""The prompt side of a motion prior: a tokenizer with the common words of the labels, and a small CLIP encoder."""

import re
from collections import Counter
from collections.abc import Sequence

from transformers import CLIPTextConfig, CLIPTextModelWithProjection, CLIPTokenizer

from g2d2.training.masked_motion.captured_clips import Clip
from g2d2.training.masked_motion.motion_recipe import MotionTransformerSettings
from g2d2.training.vq_diffusion.prompt_text import build_tokenizer

_COMMON = 2
"""Clips that must have a word for it to become one token; others are spelt."""


def common_words(clips: Sequence[Clip]) -> tuple[str, ...]:
    """Words of the clips' prompts as one text, for the tokenizer to learn."""
    counts = Counter(
        word
        for clip in clips
        for word in {word for prompt in (*clip.prompts, *clip.actions) for word in re.findall("[a-z]+", prompt)}
    )
    return (" ".join(sorted(word for word, count in counts.items() if count >= _COMMON)),)


def motion_tokenizer(words: tuple[str, ...], settings: MotionTransformerSettings) -> CLIPTokenizer:
    """A tokenizer that can write any text, and writes each of these words as one token."""
    return build_tokenizer(words, settings.text_length)


def motion_text_encoder(settings: MotionTransformerSettings, tokenizer: CLIPTokenizer) -> CLIPTextModelWithProjection:
    """A randomly initialised text encoder: a state per token, and a pooled one."""
    return CLIPTextModelWithProjection(
        CLIPTextConfig(
            vocab_size=len(tokenizer),
            hidden_size=settings.text_width,
            projection_dim=settings.text_width,
            intermediate_size=2 * settings.text_width,
            num_hidden_layers=settings.text_layers,
            num_attention_heads=max(1, settings.text_width // 32),
            max_position_embeddings=settings.text_length,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
