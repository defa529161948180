"""The folder of a VQ-Diffusion prior: which files each component has, and the numbers its configurations state."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from g2d2.priors import component_files
from g2d2.priors.clip_prompts import require_tokenizer
from g2d2.priors.component_files import DIFFUSERS, TRANSFORMERS
from g2d2.priors.json_files import read_json
from operators.errors import InputError

CONFIG_FILES = {
    "vqvae": ("config.json",),
    "transformer": ("config.json",),
    "scheduler": ("scheduler_config.json",),
    "text_encoder": ("config.json",),
    "tokenizer": ("tokenizer_config.json",),
    "learned_classifier_free_sampling_embeddings": ("config.json",),
}
"""Files a component cannot do without, besides its weights."""

WEIGHTS = {
    "vqvae": DIFFUSERS,
    "transformer": DIFFUSERS,
    "text_encoder": TRANSFORMERS,
    "learned_classifier_free_sampling_embeddings": DIFFUSERS,
}
"""Components with weights, and what these are called."""

COMPONENTS = tuple(CONFIG_FILES)


def require_folders(folder: Path) -> None:
    """Refuse a folder that lacks that of a component."""
    for name in COMPONENTS:
        if not (folder / name).is_dir():
            raise InputError(f"prior: {str(folder)!r} has no folder {name!r}; it must hold {', '.join(COMPONENTS)}.")


def require_files(folder: Path) -> None:
    """Refuse a folder that lacks a file; none is opened but indices of weights in parts."""
    require_folders(folder)
    for name, files in CONFIG_FILES.items():
        for file in files:
            if not (folder / name / file).is_file():
                raise InputError(f"prior: component {name!r} is incomplete: {folder / name / file} is missing.")
    require_tokenizer(folder)
    for name, stems in WEIGHTS.items():
        component_files.require_weights(folder / name, stems, name)


def weight_files(folder: Path, component: str) -> list[Path]:
    """The files whose tensors are loaded; none for a component without weights."""
    stems = WEIGHTS.get(component)
    return [] if stems is None else component_files.weight_files(folder / component, stems)


def loaded_files(folder: Path) -> list[Path]:
    """All that decides what the prior computes: no README, no other precision."""
    return [
        path for name in COMPONENTS for path in component_files.config_files(folder / name) + weight_files(folder, name)
    ]


def read_configs(folder: Path) -> dict[str, dict[str, Any]]:
    """The main configuration of every component."""
    return {name: read_json(folder / name / files[0]) for name, files in CONFIG_FILES.items()}


@dataclass(frozen=True)
class Shape:
    """What a prior is about, in the numbers a user asks for."""

    image_size: tuple[int, int]
    tokens: tuple[int, int]
    codes: int
    code_width: int
    train_steps: int
    text_width: int
    layers: int

    def __str__(self) -> str:
        (height, width), (rows, columns) = self.image_size, self.tokens
        return f"{width}x{height} pixels, {columns}x{rows} tokens, {self.codes} codes"


def read_shape(folder: Path) -> Shape:
    """Shape as the configurations state it; `check_folder` compares it with the weights."""
    configs = read_configs(folder)
    vqvae, transformer, scheduler = configs["vqvae"], configs["transformer"], configs["scheduler"]
    try:
        side = int(transformer["sample_size"])
        scale = 2 ** (len(vqvae["block_out_channels"]) - 1)
        return Shape(
            image_size=(side * scale, side * scale),
            tokens=(side, side),
            codes=int(vqvae["num_vq_embeddings"]),
            code_width=int(vqvae.get("vq_embed_dim") or vqvae["latent_channels"]),
            train_steps=int(scheduler.get("num_train_timesteps", 100)),
            text_width=int(transformer["cross_attention_dim"]),
            layers=int(transformer.get("num_layers", 1)),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"prior: the configurations in {folder} do not describe a VQ-Diffusion model ({error})."
        ) from None
