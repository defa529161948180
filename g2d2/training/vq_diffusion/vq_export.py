"""The trained parts as a folder in diffusers' VQ-Diffusion layout."""

from pathlib import Path

import torch
from diffusers import VQDiffusionScheduler, VQModel
from diffusers.pipelines.deprecated.vq_diffusion.pipeline_vq_diffusion import VQDiffusionPipeline
from transformers.utils.logging import disable_progress_bar

from g2d2.priors.vq_diffusion.components import COMPONENT_CLASSES
from g2d2.training.data import PROMPTS
from g2d2.training.folders import replacing
from g2d2.training.vq_diffusion.prompt_text import save_tokenizer
from g2d2.training.vq_diffusion.token_transformer import TokenPrior


def export_prior(folder: Path, vqvae: VQModel, prior: TokenPrior, scheduler: VQDiffusionScheduler) -> None:
    """Write every component under its own subfolder; an older export in the same place is replaced."""
    pipeline = VQDiffusionPipeline(
        vqvae=vqvae,
        transformer=prior.transformer,
        text_encoder=prior.text_encoder,
        tokenizer=prior.tokenizer,
        scheduler=scheduler,
        learned_classifier_free_sampling_embeddings=prior.unconditional,
    )
    disable_progress_bar()
    with replacing(folder) as fresh:
        pipeline.save_pretrained(fresh, safe_serialization=True)
        save_tokenizer(prior.tokenizer, PROMPTS, fresh / "tokenizer")


def load_pipeline(folder: Path, device: torch.device | None = None) -> VQDiffusionPipeline:
    """A stock pipeline from an exported folder, component by component.

    diffusers 0.42 cannot resolve the unconditional embedding's class from `model_index.json`.
    """
    disable_progress_bar()
    parts = {name: kind.from_pretrained(folder, subfolder=name) for name, kind in COMPONENT_CLASSES.items()}
    pipeline = VQDiffusionPipeline(**parts)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline.to(device) if device is not None else pipeline
