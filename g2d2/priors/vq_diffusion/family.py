"""The family of VQ-Diffusion and CLIP-VQDiffusion in diffusers' folder layout. Imports no model library."""

from pathlib import Path
from typing import Any, Unpack

from g2d2.priors.base import Discrete, PriorFacts
from g2d2.priors.clip_prompts import TokenCounter
from g2d2.priors.component_files import written_by
from g2d2.priors.families import NetworkForm
from g2d2.priors.json_files import read_json
from g2d2.priors.pipeline_family import PipelineFamily
from g2d2.priors.vq_diffusion.checking import check_folder
from g2d2.priors.vq_diffusion.layout import COMPONENTS, LAYOUT, read_shape
from operators import InputError

_IMAGE_CHANNELS = 3
"""Where a configuration names none, as diffusers has it."""


class VQDiffusion(PipelineFamily):
    """A text encoder, a transformer over tokens, and the VQGAN that decodes them."""

    name = "vq_diffusion"
    kind = Discrete
    layout = LAYOUT
    looks_for = f"a VQDiffusionPipeline as diffusers saves it, with folders {', '.join(COMPONENTS)}"
    hub_patterns = tuple(f"{name}/*.{ending}" for name in COMPONENTS for ending in ("json", "txt", "safetensors"))

    def recognises(self, folder: Path) -> bool:
        """By any of three signs, so that of a damaged folder the part that is missing can be named."""
        return (
            written_by(folder / "model_index.json") == "VQDiffusionPipeline"
            or written_by(folder / "scheduler" / "scheduler_config.json") == "VQDiffusionScheduler"
            or (folder / "learned_classifier_free_sampling_embeddings").is_dir()
        )

    def check_files(self, folder: Path) -> None:
        check_folder(folder)

    def describe(self, folder: Path) -> dict[str, str]:
        LAYOUT.require_folders(folder)
        shape = read_shape(folder)
        layers = f"{shape.layers} layers, {shape.train_steps} training steps, text width {shape.text_width}"
        return {"shape": str(shape), "transformer": layers}

    def facts(self, folder: Path) -> PriorFacts:
        shape = read_shape(folder) if LAYOUT.pickled(folder) else check_folder(folder)
        channels = read_json(folder / "vqvae" / "config.json").get("out_channels", _IMAGE_CHANNELS)
        if not isinstance(channels, int):
            raise InputError(
                f"prior: {folder / 'vqvae' / 'config.json'} has out_channels {channels!r}: it must be a number."
            )
        count = TokenCounter(folder, _load_component)
        return PriorFacts(Discrete, "image", (channels, *shape.image_size), shape.train_steps, count.limit, count)

    def load(self, folder: Path, **form: Unpack[NetworkForm]) -> Discrete:
        from g2d2.priors.vq_diffusion.components import load_components  # model libraries
        from g2d2.priors.vq_diffusion.prior import VQDiffusionPrior

        return VQDiffusionPrior(load_components(folder), **form)


def _load_component(folder: Path, name: str) -> Any:
    from g2d2.priors.vq_diffusion.components import load_component  # model libraries, which most prompts do without

    return load_component(folder, name)
