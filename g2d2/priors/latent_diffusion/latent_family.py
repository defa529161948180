"""The family of latent diffusion models as diffusers saves them. Imports no model library."""

from pathlib import Path
from typing import Any, Unpack

from g2d2.priors.base import Latent, PriorFacts
from g2d2.priors.class_labels import CLASSES_FILE, no_prompt
from g2d2.priors.clip_prompts import TokenCounter
from g2d2.priors.component_files import DIFFUSERS, TRANSFORMERS, has_safetensors, written_by
from g2d2.priors.families import Family, NetworkForm
from g2d2.priors.latent_diffusion.latent_layout import (
    AUTOENCODERS,
    TEXT,
    autoencoder_folder,
    check_folder,
    has_text,
    loaded_files,
    pickled,
    read_shape,
    require_files,
)

_PIPELINES = ("LDMPipeline", "LatentDiffusionUncondPipeline", "LDMTextToImagePipeline", "StableDiffusionPipeline")
_PARTS = (*AUTOENCODERS, "unet", "scheduler", *TEXT)


class LatentDiffusion(Family):
    """A UNet over the latents of an autoencoder, with a scheduler, and a text encoder where it is told prompts."""

    name = "latent_diffusion"
    kind = Latent
    looks_for = (
        "an LDMPipeline or StableDiffusionPipeline as diffusers saves it, with folders unet, scheduler and vqvae or vae"
    )
    hub_patterns = (
        "model_index.json",
        CLASSES_FILE,
        *(f"{name}/*.{ending}" for name in _PARTS for ending in ("json", "txt", "safetensors")),
    )

    def recognises(self, folder: Path) -> bool:
        if written_by(folder / "model_index.json") in _PIPELINES:
            return True
        return (folder / "unet").is_dir() and any((folder / name).is_dir() for name in AUTOENCODERS)

    def files(self, folder: Path) -> list[Path]:
        return loaded_files(folder)

    def other_weights(self, folder: Path) -> list[str]:
        """Plain pickled tensors of the components that have no safetensors."""
        stems = {autoencoder_folder(folder).name: DIFFUSERS, "unet": DIFFUSERS}
        if has_text(folder):
            stems["text_encoder"] = TRANSFORMERS
        return [f"{name}/*.bin*" for name, stem in stems.items() if not has_safetensors(folder / name, stem)]

    def require_files(self, folder: Path) -> None:
        require_files(folder)

    def check_files(self, folder: Path) -> None:
        check_folder(folder)

    def describe(self, folder: Path) -> dict[str, str]:
        require_files(folder)
        shape = read_shape(folder)
        words = {"denoiser": shape.unet.words(shape.noise), "autoencoder": shape.autoencoder.words()}
        return {"shape": str(shape), **words}

    def facts(self, folder: Path) -> PriorFacts:
        require_files(folder)
        shape = read_shape(folder) if pickled(folder) else check_folder(folder)
        steps = len(shape.noise.alpha_bar)
        if has_text(folder):
            count = TokenCounter(folder, _load_component)
            return PriorFacts(Latent, "image", shape.x_shape, steps, count.limit, count, guided="prompted rows")
        if shape.labels is None:
            return PriorFacts(Latent, "image", shape.x_shape, steps, misfit=no_prompt, guided="no row")
        return PriorFacts(Latent, "image", shape.x_shape, steps, misfit=shape.labels.misfit)

    def load(self, folder: Path, **form: Unpack[NetworkForm]) -> Latent:
        from g2d2.priors.latent_diffusion.latent_components import load_latent_parts  # model libraries
        from g2d2.priors.latent_diffusion.latent_prior import LatentDiffusionPrior

        return LatentDiffusionPrior(load_latent_parts(folder), **form)


def _load_component(folder: Path, name: str) -> Any:
    from g2d2.priors.latent_diffusion.latent_components import load_latent_part  # model libraries

    return load_latent_part(folder, name)
