"""The parts of a latent diffusion model, strictly loaded."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffusers import AutoencoderKL, UNet2DConditionModel, UNet2DModel, VQModel
from transformers import CLIPTextModel, CLIPTokenizer

from g2d2.priors.clip_prompts import check_tokenizer
from g2d2.priors.gaussian_noise import GaussianNoise
from g2d2.priors.latent_diffusion.latent_layout import check_folder, has_text, read_autoencoder
from g2d2.priors.strict_weights import load_part
from g2d2.priors.unet_conditions import Classes, Nothing, Texts

_CLASSES: dict[str, Any] = {kind.__name__: kind for kind in (AutoencoderKL, VQModel, UNet2DModel, UNet2DConditionModel)}


@dataclass
class LatentParts:
    """What a latent diffusion model is made of."""

    autoencoder: Any
    unet: Any
    noise: GaussianNoise
    conditions: Nothing
    scaling: float
    shift: float = 0.0


def load_latent_parts(folder: Path) -> LatentParts:
    """Every part of a folder, checked and strictly loaded."""
    shape = check_folder(folder)
    conditions = Nothing() if shape.labels is None else Classes(shape.labels)
    if has_text(folder):
        text_encoder, tokenizer = (load_latent_part(folder, name) for name in ("text_encoder", "tokenizer"))
        check_tokenizer(folder, tokenizer, text_encoder.config)
        conditions = Texts(text_encoder, tokenizer)
    return LatentParts(
        load_latent_part(folder, shape.autoencoder.name),
        load_latent_part(folder, "unet"),
        shape.noise,
        conditions,
        shape.autoencoder.scaling,
        shape.autoencoder.shift,
    )


def load_latent_part(folder: Path, name: str) -> Any:
    """One part by the name of its folder."""
    if name == "tokenizer":
        return load_part(CLIPTokenizer, folder, name, weights=False)
    if name == "text_encoder":
        return load_part(CLIPTextModel, folder, name)
    if name == "unet":
        return load_part(UNet2DConditionModel if has_text(folder) else UNet2DModel, folder, name)
    return load_part(_CLASSES[read_autoencoder(folder / name).kind], folder, name)
