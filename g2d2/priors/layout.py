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

INDEX_ENDING = ".index.json"

TOKENIZER_FILES = (("tokenizer.json",), ("vocab.json", "merges.txt"))
"""Either the fast tokenizer's one file or CLIP's original pair."""

COMPONENTS = tuple(CONFIG_FILES)


def require_folders(folder: Path, source: str) -> None:
    for name in COMPONENTS:
        if not (folder / name).is_dir():
            raise InputError(f"prior: {source!r} has no folder {name!r}; it must hold {', '.join(COMPONENTS)}.")


def weights_path(folder: Path, component: str) -> Path | None:
    """A component's weights, or the index of their parts: safetensors, else plain pickled tensors.

    Other precisions are left alone.
    """
    if component not in WEIGHT_STEMS:
        return None
    for stem, ending in ((WEIGHT_STEMS[component], ".safetensors"), (PICKLE_STEMS[component], ".bin")):
        names = (f"{stem}{ending}", f"{stem}{ending}{INDEX_ENDING}")
        present = [path for name in names if (path := folder / component / name).is_file()]
        if len(present) > 1:  # the libraries do not agree on which to take
            raise InputError(f"prior: {folder / component} has {' and '.join(names)}; keep the one that is meant.")
        if present:
            return present[0]
    return None


def weight_files(folder: Path, component: str) -> list[Path]:
    """The files whose tensors are loaded."""
    path = weights_path(folder, component)
    if path is None:
        return []
    if not path.name.endswith(INDEX_ENDING):
        return [path]
    return [folder / component / name for name in sorted(set(weight_map(path).values()))]


def weight_map(index: Path) -> dict[str, str]:
    """The file of every tensor, by an index of weights in parts."""
    places, ending = read_json(index).get("weight_map"), Path(index.name.removesuffix(INDEX_ENDING)).suffix
    if not isinstance(places, dict) or not places:
        raise InputError(f"prior: {index} has no weight_map from tensors to files.")
    for tensor, file in places.items():
        if not isinstance(file, str) or Path(file).name != file or not file.endswith(ending):
            raise InputError(
                f"prior: {index}: weight_map has {file!r} for tensor {tensor!r}; it must name a {ending} file of the "
                "same folder."
            )
    return places


def has_safetensors(folder: Path, component: str) -> bool:
    """Whether a component's weights are safetensors, whole or in parts."""
    path = weights_path(folder, component)
    return path is not None and ".safetensors" in path.suffixes


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
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"prior: the configurations in {folder} do not describe a VQ-Diffusion model ({error})."
        ) from None


def folder_bytes(folder: Path) -> int:
    """Size of everything that is loaded."""
    files = [path for name in COMPONENTS for path in config_files(folder, name) + weight_files(folder, name)]
    return sum(path.stat().st_size for path in files if path.is_file())
