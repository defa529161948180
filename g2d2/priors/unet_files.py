"""The files of a UNet of diffusers and the numbers its configuration states. Imports no model library."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from g2d2.priors.component_files import DIFFUSERS, require_weights, weight_files, weights_path
from g2d2.priors.gaussian_noise import GaussianNoise, read_noise
from g2d2.priors.json_files import read_json
from g2d2.priors.tensor_shapes import component_shapes
from operators.errors import InputError
from operators.plurals import counted
from operators.validation import shorten

SCHEDULER_FILE = "scheduler_config.json"

_OLD_NAMES = {"UNetUnconditionalModel": "UNet2DModel", "UNetConditionalModel": "UNet2DConditionModel"}
"""What diffusers called its classes when the first models were saved."""


@dataclass(frozen=True)
class UNetShape:
    """What a UNet takes and gives."""

    kind: str
    """Its class."""
    channels: int
    size: tuple[int, int]
    classes: int | None
    """Of a class-conditional one."""
    text_width: int | None
    """Of the states that one with cross-attention takes."""

    @property
    def z_shape(self) -> tuple[int, int, int]:
        """(C, H, W)"""
        return (self.channels, *self.size)

    def words(self, noise: GaussianNoise) -> str:
        """Its class, prediction, steps and condition for people."""
        told = "unconditional"
        if self.text_width is not None:
            told = "prompts"
        elif self.classes is not None:
            told = f"{self.classes} classes"
        learned = ", learned variance" if noise.learned else ""
        steps = counted(len(noise.alpha_bar), "training step")
        return f"{self.kind}, {noise.prediction.removesuffix('_prediction')} prediction{learned}, {steps}, {told}"


def read_unet(component: Path, noise: GaussianNoise, kinds: Sequence[str]) -> UNetShape:
    """The shape of a UNet of one of these classes, or one sentence on what cannot be used."""
    path = component / "config.json"
    config = read_json(path)
    name = str(config.get("_class_name"))
    kind = _OLD_NAMES.get(name, name)
    if kind not in kinds:
        raise InputError(f"prior: {path} is of {shorten(name)}; it must be of {' or '.join(kinds)}.")
    conditional = kind == "UNet2DConditionModel"
    channels, out = (_whole(config, key, 4 if conditional else 3, path) for key in ("in_channels", "out_channels"))
    wanted = 2 * channels if noise.learned else channels
    if out != wanted:
        raise InputError(
            f"prior: {path} has in_channels {channels} and out_channels {out}, which must be {wanted} where the "
            f"scheduler's variance_type is {noise.variance}."
        )
    for key in ("class_embed_type", "addition_embed_type", "encoder_hid_dim_type", "time_cond_proj_dim"):
        if config.get(key) is not None:
            raise InputError(
                f"prior: {path} has {key} {shorten(config[key])}: such a UNet cannot be told what it needs."
            )
    return UNetShape(
        kind, channels, _size(config, path), _classes(config, conditional, path), _width(config, kind, path)
    )


def read_scheduler(component: Path) -> GaussianNoise:
    """The noise of the scheduler in a folder."""
    return read_noise(component / SCHEDULER_FILE)


def check_unet_weights(component: Path, shape: UNetShape, noise: GaussianNoise) -> None:
    """Refuse weights that are damaged or of other channels than the configuration states."""
    expected = {
        "conv_in.weight": (1, shape.channels),
        "conv_out.weight": (0, shape.channels * (2 if noise.learned else 1)),
    }
    if shape.classes is not None:
        expected["class_embedding.weight"] = (0, shape.classes)
    check_sides(component, expected)


def check_sides(component: Path, expected: dict[str, tuple[int, int]]) -> None:
    """Refuse a component of which a tensor lacks, along an axis, the side that is expected of it."""
    shapes = component_shapes(component, DIFFUSERS)
    path = weights_path(component, DIFFUSERS)
    for name, (axis, side) in expected.items():
        present = shapes.get(name)
        if present is None or len(present) <= axis or present[axis] != side:
            have = "is missing" if present is None else f"is {'x'.join(map(str, present))}"
            raise InputError(f"prior: {path}: {name} {have}, and must have {side} along axis {axis}.")


def require_network(component: Path, name: str) -> None:
    """Refuse a network that lacks its configuration or a file of its weights."""
    if not (component / "config.json").is_file():
        raise InputError(f"prior: component {name!r} is incomplete: {component / 'config.json'} is missing.")
    require_weights(component, DIFFUSERS, name)


def network_files(component: Path) -> list[Path]:
    """All that decides what a network computes: its configuration, its weights, and their index."""
    path = weights_path(component, DIFFUSERS)
    return [component / "config.json", *([] if path is None else [path]), *weight_files(component, DIFFUSERS)]


def is_pickled(component: Path) -> bool:
    """Whether weights would have to be read whole to be checked, as safetensors need not."""
    return any(path.suffix == ".bin" for path in weight_files(component, DIFFUSERS))


def _whole(config: dict[str, Any], key: str, default: int, path: Path) -> int:
    value = config.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"prior: {path} has {key} {shorten(value)}: it must be a whole number above 0.")
    return value


def _size(config: dict[str, Any], path: Path) -> tuple[int, int]:
    value = config.get("sample_size")
    sides: list[Any] = value if isinstance(value, list) else [value, value]
    if len(sides) != 2 or not all(isinstance(side, int) and side > 0 for side in sides):
        raise InputError(f"prior: {path} has sample_size {shorten(value)}: it must be the side of what it denoises.")
    return sides[0], sides[1]


def _classes(config: dict[str, Any], conditional: bool, path: Path) -> int | None:
    if config.get("num_class_embeds") is None:
        return None
    if conditional:
        raise InputError(
            f"prior: {path} has num_class_embeds beside cross-attention; a prompt can only be one of both."
        )
    return _whole(config, "num_class_embeds", 1, path)


def _width(config: dict[str, Any], kind: str, path: Path) -> int | None:
    return _whole(config, "cross_attention_dim", 1280, path) if kind == "UNet2DConditionModel" else None
