"""The parts of a VQ-Diffusion model: loaded strictly, each by the class its configuration names, and fitting."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffusers import Transformer2DModel, VQDiffusionScheduler, VQModel
from diffusers.pipelines.deprecated.vq_diffusion.pipeline_vq_diffusion import (
    LearnedClassifierFreeSamplingEmbeddings,
)
from transformers import CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer

from g2d2.priors.clip_prompts import check_tokenizer
from g2d2.priors.component_files import class_name
from g2d2.priors.json_files import read_json
from g2d2.priors.strict_weights import load_part
from g2d2.priors.vq_diffusion.checking import check_folder
from g2d2.priors.vq_diffusion.clip_conditioned import ClipConditionedTransformer, GumbelVQModel
from g2d2.priors.vq_diffusion.layout import WEIGHTS
from operators import InputError


@dataclass
class Components:
    """The parts of a VQ-Diffusion pipeline, under the names of their folders."""

    vqvae: Any
    transformer: Any
    scheduler: Any
    text_encoder: Any
    tokenizer: Any
    learned_classifier_free_sampling_embeddings: Any

    def save(self, folder: Path) -> None:
        """Every part in its own folder, as diffusers lays them out."""
        for name in COMPONENT_CLASSES:
            getattr(self, name).save_pretrained(folder / name)

    @property
    def pooled(self) -> bool:
        """Whether a prompt is one projected embedding, as CLIP-VQDiffusion takes it, instead of a state per word."""
        return isinstance(self.text_encoder, CLIPTextModelWithProjection)


COMPONENT_CLASSES: dict[str, Any] = {
    "vqvae": VQModel,
    "transformer": Transformer2DModel,
    "scheduler": VQDiffusionScheduler,
    "text_encoder": CLIPTextModel,
    "tokenizer": CLIPTokenizer,
    "learned_classifier_free_sampling_embeddings": LearnedClassifierFreeSamplingEmbeddings,
}

OTHER_CLASSES: dict[str, Any] = {
    kind.__name__: kind for kind in (ClipConditionedTransformer, GumbelVQModel, CLIPTextModelWithProjection)
}
"""Taken instead where a component's configuration names them: CLIP-VQDiffusion."""


def load_components(folder: Path) -> Components:
    """Every part of a prior's folder, checked and strictly loaded."""
    check_folder(folder)
    components = Components(**{name: load_component(folder, name) for name in COMPONENT_CLASSES})
    check_tokenizer(folder, components.tokenizer, components.text_encoder.config)
    return components


def load_component(folder: Path, name: str) -> Any:
    """One part, by the class its own configuration names."""
    return load_part(_component_class(folder, name), folder, name, weights=name in WEIGHTS)


def check_components(parts: Components) -> None:
    """The parts must speak of the same codes, tokens and text states."""
    codes = parts.vqvae.config.num_vq_embeddings
    classes = {
        "transformer.num_vector_embeds": parts.transformer.config.num_vector_embeds,
        "scheduler.num_vec_classes": parts.scheduler.config.num_vec_classes,
    }
    for field, value in classes.items():
        if value != codes + 1:
            raise InputError(f"{field}: {value} does not fit the codebook of {codes} codes; it must be {codes + 1}.")
    field = "projection_dim" if parts.pooled else "hidden_size"
    width, expected = getattr(parts.text_encoder.config, field), parts.transformer.config.cross_attention_dim
    if width != expected:
        raise InputError(f"text_encoder.{field}: {width} does not fit transformer.cross_attention_dim {expected}.")


def _component_class(folder: Path, name: str) -> Any:
    if name in ("scheduler", "tokenizer"):
        return COMPONENT_CLASSES[name]
    named = class_name(read_json(folder / name / "config.json"))
    return OTHER_CLASSES.get(str(named), COMPONENT_CLASSES[name])
