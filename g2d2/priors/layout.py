"""The folder of a prior: which files each component has, and the numbers its configurations state."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

WEIGHT_STEMS = {
    "vqvae": "diffusion_pytorch_model",
    "transformer": "diffusion_pytorch_model",
    "text_encoder": "model",
    "learned_classifier_free_sampling_embeddings": "diffusion_pytorch_model",
}
PICKLE_STEMS = {**WEIGHT_STEMS, "text_encoder": "pytorch_model"}

TOKENIZER_FILES = (("tokenizer.json",), ("vocab.json", "merges.txt"))
"""Either the fast tokenizer's one file or CLIP's original pair."""

COMPONENTS = tuple(CONFIG_FILES)


def require_folders(folder: Path, source: str) -> None:
    for name in COMPONENTS:
        if not (folder / name).is_dir():
            raise InputError(f"prior: {source!r} has no folder {name!r}; it must hold {', '.join(COMPONENTS)}.")


def weight_files(folder: Path, component: str) -> list[Path]:
    """The files whose tensors are loaded: safetensors, else plain pickled tensors; other precisions are left alone."""
    if component not in WEIGHT_STEMS:
        return []
    for stem, ending in ((WEIGHT_STEMS[component], ".safetensors"), (PICKLE_STEMS[component], ".bin")):
        whole = folder / component / f"{stem}{ending}"
        if whole.is_file():
            return [whole]
        index = folder / component / f"{stem}{ending}.index.json"
        if index.is_file():
            names = sorted(set(read_json(index).get("weight_map", {}).values()))
            return [folder / component / name for name in names]
    return []


def config_files(folder: Path, component: str) -> list[Path]:
    """Everything but weights that decides what a component computes."""
    return sorted(path for ending in ("json", "txt") for path in (folder / component).glob(f"*.{ending}"))


def read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"prior: {path} is missing.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"prior: {path} is not readable JSON ({' '.join(str(error).split())[:120]}).") from None
    if not isinstance(content, dict):
        raise InputError(f"prior: {path} must hold a JSON object.")
    return content


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
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"prior: the configurations in {folder} do not describe a VQ-Diffusion model ({error})."
        ) from None


def folder_bytes(folder: Path) -> int:
    """Size of everything that is loaded."""
    files = [path for name in COMPONENTS for path in config_files(folder, name) + weight_files(folder, name)]
    return sum(path.stat().st_size for path in files if path.is_file())
