"""The folder of a masked motion prior: its files, and the numbers that they state. Imports no model library."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from g2d2.priors import component_files
from g2d2.priors.clip_prompts import require_tokenizer
from g2d2.priors.component_files import DIFFUSERS, TRANSFORMERS
from g2d2.priors.json_files import read_json
from g2d2.priors.tensor_shapes import component_shapes
from operators.errors import InputError
from operators.skeleton.joint_names import FEATURES

WEIGHTS = {"vqvae": DIFFUSERS, "transformer": DIFFUSERS, "text_encoder": TRANSFORMERS}
"""Components with weights, and what these are called."""
CONFIG_FILES = {
    "vqvae": "config.json",
    "transformer": "config.json",
    "text_encoder": "config.json",
    "tokenizer": "tokenizer_config.json",
}
NORMALISATION = "normalisation/normalisation.safetensors"
"""Mean and standard deviation of the features that the tokeniser takes."""
LEVELS = 100
"""Noise levels of the schedule, and so the most steps a method may take; the network knows none of them."""
MOTION_COMPONENTS = (*CONFIG_FILES, "normalisation")


@dataclass(frozen=True)
class MotionShape:
    """What a motion prior is about, in the numbers a user asks for."""

    frames: int
    tokens: int
    codes: int
    code_width: int
    layers: int
    width: int
    text_width: int

    def __str__(self) -> str:
        return f"up to {self.frames} frames of {FEATURES} features, {self.tokens} tokens, {self.codes} codes"


def require_motion_files(folder: Path) -> None:
    """Refuse a folder that lacks a file; none is opened but indices of weights in parts."""
    for name in MOTION_COMPONENTS:
        if not (folder / name).is_dir():
            wanted = ", ".join(MOTION_COMPONENTS)
            raise InputError(f"prior: {str(folder)!r} has no folder {name!r}; it must hold {wanted}.")
    for path in (*(folder / name / file for name, file in CONFIG_FILES.items()), folder / NORMALISATION):
        if not path.is_file():
            raise InputError(f"prior: component {path.parent.name!r} is incomplete: {path} is missing.")
    require_tokenizer(folder)
    for name, stems in WEIGHTS.items():
        component_files.require_weights(folder / name, stems, name)


def motion_files(folder: Path) -> list[Path]:
    """All that decides what the prior computes."""
    parts = [path for name in CONFIG_FILES for path in component_files.config_files(folder / name)]
    weights = [path for name, stems in WEIGHTS.items() for path in component_files.weight_files(folder / name, stems)]
    return [*parts, *weights, folder / NORMALISATION]


def read_motion_shape(folder: Path) -> MotionShape:
    """Shape as the configurations state it, which must agree with each other."""
    configs = {name: read_json(folder / name / file) for name, file in CONFIG_FILES.items()}
    vqvae, transformer, text = configs["vqvae"], configs["transformer"], configs["text_encoder"]
    try:
        frames, tokens = int(vqvae["longest"]), int(transformer["tokens"])
        shape = MotionShape(
            frames=frames,
            tokens=tokens,
            codes=int(vqvae["codes"]),
            code_width=int(vqvae["code_width"]),
            layers=int(transformer["word_layers"]) + int(transformer["layers"]),
            width=int(transformer["width"]),
            text_width=int(transformer["text_width"]),
        )
        per_token = 2 ** int(vqvae["halvings"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"prior: the configurations in {folder} do not describe a motion model ({error}).") from None
    expected = {
        ("vqvae", "features"): FEATURES,
        ("vqvae", "longest"): tokens * per_token,
        ("transformer", "codes"): shape.codes,
        ("transformer", "code_width"): shape.code_width,
        ("text_encoder", "hidden_size"): shape.text_width,
        ("text_encoder", "projection_dim"): shape.text_width,
    }
    _refuse_misfits(folder, {"vqvae": vqvae, "transformer": transformer, "text_encoder": text}, expected)
    return shape


def check_motion_folder(folder: Path) -> MotionShape:
    """The prior's shape, or one sentence that names the first file that is missing, damaged or does not fit."""
    require_motion_files(folder)
    shape = read_motion_shape(folder)
    tensors = {name: component_shapes(folder / name, stems) for name, stems in WEIGHTS.items()}
    wanted = (shape.codes, shape.code_width)
    for name in ("vqvae", "transformer"):
        present = tensors[name].get("codebook")
        if present != wanted:
            have = "missing" if present is None else "x".join(map(str, present))
            raise InputError(
                f"prior: {component_files.weight_files(folder / name, WEIGHTS[name])[0]}: codebook is {have} and must "
                f"be {wanted[0]}x{wanted[1]}."
            )
    return shape


def _refuse_misfits(folder: Path, configs: dict[str, dict[str, Any]], expected: dict[tuple[str, str], int]) -> None:
    for (component, key), value in expected.items():
        present = configs[component].get(key)
        if present != value:
            raise InputError(
                f"prior: {folder / component / CONFIG_FILES[component]} has {key} {present!r}, which does not fit the "
                f"other components; it must be {value}."
            )
