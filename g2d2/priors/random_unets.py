"""Pixel and latent diffusion priors with random weights, small enough that every test runs in milliseconds."""

import json
from pathlib import Path
from typing import Any

import torch
from diffusers import AutoencoderKL, DDIMScheduler, DDPMScheduler, UNet2DConditionModel, UNet2DModel, VQModel
from transformers import CLIPTextConfig, CLIPTextModel

from g2d2.priors.vq_diffusion.random_weights import character_tokenizer

SIDE = 8
TRAIN_STEPS = 20
_TEXT_WIDTH, _TEXT_LENGTH = 8, 16


def random_unet(channels: int = 3, side: int = SIDE, learned: bool = False, **changes: Any) -> UNet2DModel:
    """Two levels, the lower with attention; `changes` are of its configuration."""
    shape: dict[str, Any] = {
        "sample_size": side,
        "in_channels": channels,
        "out_channels": 2 * channels if learned else channels,
        "layers_per_block": 1,
        "block_out_channels": (8, 16),
        "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
        "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
        "norm_num_groups": 4,
        "attention_head_dim": 8,
    }
    return UNet2DModel(**shape | changes)


def save_pixel(folder: Path, seed: int = 0, scheduler: dict[str, Any] | None = None, **changes: Any) -> Path:
    """A pixel prior of 8x8 images in the layout of `DDPMPipeline`; `scheduler` and the rest change configurations."""
    from diffusers import DDPMPipeline

    noise = DDPMScheduler(**{"num_train_timesteps": TRAIN_STEPS, "beta_end": 0.4} | (scheduler or {}))
    learned = noise.config.variance_type in ("learned", "learned_range")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        unet = random_unet(learned=learned, **changes)
    DDPMPipeline(unet=unet, scheduler=noise).save_pretrained(folder)
    return folder


def save_latent(
    folder: Path, seed: int = 0, kind: str = "VQModel", text: bool = False, scheduler: dict[str, Any] | None = None
) -> Path:
    """A latent prior of 16x16 images and 8x8 latents: LDM's layout, or with `text` that of Stable Diffusion."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        _autoencoder(kind).save_pretrained(folder / ("vqvae" if kind == "VQModel" else "vae"))
        if text:
            _save_text(folder)
        (_conditional_unet() if text else random_unet(4)).save_pretrained(folder / "unet")
    noise = DDIMScheduler(
        **{"num_train_timesteps": TRAIN_STEPS, "beta_end": 0.4, "clip_sample": False} | (scheduler or {})
    )
    noise.save_pretrained(folder / "scheduler")
    pipeline = "StableDiffusionPipeline" if text else "LDMPipeline"
    (folder / "model_index.json").write_text(json.dumps({"_class_name": pipeline}))
    return folder


def _autoencoder(kind: str) -> Any:
    shape: dict[str, Any] = {
        "in_channels": 3,
        "out_channels": 3,
        "down_block_types": ("DownEncoderBlock2D",) * 2,
        "up_block_types": ("UpDecoderBlock2D",) * 2,
        "block_out_channels": (8, 8),
        "latent_channels": 4,
        "norm_num_groups": 4,
        "sample_size": 2 * SIDE,
        "scaling_factor": 0.5,
    }
    if kind == "AutoencoderKL":
        return AutoencoderKL(**shape)
    vqvae = VQModel(**shape, num_vq_embeddings=16, vq_embed_dim=4)
    vqvae.quantize.embedding.weight.data.normal_()  # diffusers' own start lets all codes decode alike
    return vqvae


def _conditional_unet() -> UNet2DConditionModel:
    return UNet2DConditionModel(
        sample_size=SIDE,
        in_channels=4,
        out_channels=4,
        layers_per_block=1,
        block_out_channels=(8, 16),
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        norm_num_groups=4,
        attention_head_dim=2,
        cross_attention_dim=_TEXT_WIDTH,
    )


def _save_text(folder: Path) -> None:
    tokenizer = character_tokenizer(_TEXT_LENGTH)
    config = CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=_TEXT_WIDTH,
        intermediate_size=2 * _TEXT_WIDTH,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=_TEXT_LENGTH,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    tokenizer.save_pretrained(folder / "tokenizer")
    CLIPTextModel(config).save_pretrained(folder / "text_encoder")
