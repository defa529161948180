"""The parts of aMUSEd, strictly loaded, and fitting."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffusers import AmusedScheduler, UVit2DModel, VQModel
from transformers import CLIPTextModelWithProjection, CLIPTokenizer

from g2d2.priors.clip_prompts import check_tokenizer
from g2d2.priors.masked_image.masked_layout import LAYOUT, check_folder
from g2d2.priors.strict_weights import load_part

PART_CLASSES: dict[str, Any] = {
    "vqvae": VQModel,
    "transformer": UVit2DModel,
    "scheduler": AmusedScheduler,
    "text_encoder": CLIPTextModelWithProjection,
    "tokenizer": CLIPTokenizer,
}


@dataclass
class MaskedParts:
    """The parts of an `AmusedPipeline`, under the names of their folders."""

    vqvae: Any
    transformer: Any
    scheduler: Any
    text_encoder: Any
    tokenizer: Any

    def save(self, folder: Path) -> None:
        """Every part in its own folder, as diffusers lays them out."""
        for name in PART_CLASSES:
            getattr(self, name).save_pretrained(folder / name)


def load_masked_parts(folder: Path) -> MaskedParts:
    """Every part of a prior's folder, checked and strictly loaded."""
    check_folder(folder)
    parts = MaskedParts(**{name: load_masked_part(folder, name) for name in PART_CLASSES})
    check_tokenizer(folder, parts.tokenizer, parts.text_encoder.config)
    return parts


def load_masked_part(folder: Path, name: str) -> Any:
    """One part by the name of its folder."""
    return load_part(PART_CLASSES[name], folder, name, weights=name in LAYOUT.weights)
