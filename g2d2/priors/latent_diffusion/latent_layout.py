"""The folder of a latent diffusion model: its parts, their files, and how they fit. Imports no model library."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from g2d2.priors.class_labels import CLASSES_FILE, ClassLabels, read_classes
from g2d2.priors.clip_prompts import require_tokenizer
from g2d2.priors.component_files import TRANSFORMERS, config_files, require_weights, weight_files, written_by
from g2d2.priors.gaussian_noise import GaussianNoise
from g2d2.priors.json_files import read_json
from g2d2.priors.tensor_shapes import component_shapes
from g2d2.priors.unet_files import (
    SCHEDULER_FILE,
    UNetShape,
    check_sides,
    check_unet_weights,
    is_pickled,
    network_files,
    read_scheduler,
    read_unet,
    require_network,
)
from operators.errors import InputError
from operators.validation import shorten

AUTOENCODERS = ("vqvae", "vae")
"""Folders an autoencoder may be in."""
TEXT = ("text_encoder", "tokenizer")

_SCALING_FACTORS = {"VQModel": 1.0, "AutoencoderKL": 0.18215}
"""Where a configuration has none, it was saved before diffusers had the setting. Latents of a VQModel were not scaled
then, and those of an AutoencoderKL as Stable Diffusion does it. Diffusers itself takes the latter for both now, which
spoils the pictures of CompVis/ldm-celebahq-256."""


@dataclass(frozen=True)
class AutoencoderShape:
    """What an autoencoder takes and makes."""

    name: str
    """Of its folder."""
    kind: str
    """Its class."""
    image_channels: int
    latent_channels: int
    factor: int
    """Pixels per latent, along each axis."""
    scaling: float
    shift: float

    def words(self) -> str:
        """For people."""
        shift = f", shift {self.shift:g}" if self.shift else ""
        return f"{self.kind}, scaling factor {self.scaling:g}{shift}"


@dataclass(frozen=True)
class LatentShape:
    """What a latent diffusion model is about, in the numbers a user asks for."""

    unet: UNetShape
    noise: GaussianNoise
    autoencoder: AutoencoderShape
    labels: ClassLabels | None

    @property
    def x_shape(self) -> tuple[int, int, int]:
        """(C, H, W)"""
        (height, width), factor = self.unet.size, self.autoencoder.factor
        return self.autoencoder.image_channels, height * factor, width * factor

    def __str__(self) -> str:
        (_, height, width), (rows, columns) = self.x_shape, self.unet.size
        return f"{width}x{height} pixels, {columns}x{rows} latents of {self.unet.channels} channels"


def autoencoder_folder(folder: Path) -> Path:
    """The one folder with an autoencoder."""
    present = [folder / name for name in AUTOENCODERS if (folder / name).is_dir()]
    if len(present) != 1:
        problem = "both folders" if present else "no folder"
        raise InputError(
            f"prior: {str(folder)!r} has {problem} {' and '.join(AUTOENCODERS)}; it must hold one of them."
        )
    return present[0]


def has_text(folder: Path) -> bool:
    """Whether the UNet is told a text."""
    return written_by(folder / "unet" / "config.json") in ("UNet2DConditionModel", "UNetConditionalModel")


def components(folder: Path) -> tuple[str, ...]:
    """Names of the folders that are loaded."""
    return (autoencoder_folder(folder).name, "unet", "scheduler", *(TEXT if has_text(folder) else ()))


def require_files(folder: Path) -> None:
    """Refuse a folder that lacks a part, or a part that lacks a file."""
    names = components(folder)
    for name in names:
        if not (folder / name).is_dir():
            raise InputError(f"prior: {str(folder)!r} has no folder {name!r}; it must hold {', '.join(names)}.")
    require_network(folder / names[0], names[0])
    require_network(folder / "unet", "unet")
    files = {"scheduler": SCHEDULER_FILE}
    if has_text(folder):
        files |= {"text_encoder": "config.json", "tokenizer": "tokenizer_config.json"}
    for name, file in files.items():
        if not (folder / name / file).is_file():
            raise InputError(f"prior: component {name!r} is incomplete: {folder / name / file} is missing.")
    if has_text(folder):
        require_tokenizer(folder)
        require_weights(folder / "text_encoder", TRANSFORMERS, "text_encoder")


def loaded_files(folder: Path) -> list[Path]:
    """All that decides what the prior computes: no README, no other precision, no safety checker."""
    require_files(folder)
    files = [*network_files(autoencoder_folder(folder)), *network_files(folder / "unet")]
    files.append(folder / "scheduler" / SCHEDULER_FILE)
    if has_text(folder):
        files += [path for name in TEXT for path in config_files(folder / name)]
        files += weight_files(folder / "text_encoder", TRANSFORMERS)
    if (folder / CLASSES_FILE).is_file():
        files.append(folder / CLASSES_FILE)
    return files


def pickled(folder: Path) -> bool:
    """Whether weights would have to be read whole to be checked."""
    return is_pickled(folder / "unet") or is_pickled(autoencoder_folder(folder))


def read_shape(folder: Path) -> LatentShape:
    """Shape as the configurations state it, refused where they do not fit each other."""
    noise = read_scheduler(folder / "scheduler")
    unet = read_unet(folder / "unet", noise, ("UNet2DModel", "UNet2DConditionModel"))
    autoencoder = read_autoencoder(autoencoder_folder(folder))
    if autoencoder.latent_channels != unet.channels:
        raise InputError(
            f"prior: {folder / 'unet' / 'config.json'} has in_channels {unet.channels}, which does not fit the "
            f"{autoencoder.latent_channels} channels of the latents in {folder / autoencoder.name}."
        )
    if unet.text_width is not None:
        _check_text(folder, unet.text_width)
    labels = None if unet.classes is None else read_classes(folder, unet.classes)
    return LatentShape(unet, noise, autoencoder, labels)


def check_folder(folder: Path) -> LatentShape:
    """The prior's shape, or one sentence that names the first file that is missing, damaged or does not fit."""
    require_files(folder)
    shape = read_shape(folder)
    check_unet_weights(folder / "unet", shape.unet, shape.noise)
    expected = {"encoder.conv_in.weight": (1, shape.autoencoder.image_channels)}
    if shape.autoencoder.kind == "VQModel":
        expected["quantize.embedding.weight"] = (1, shape.autoencoder.latent_channels)
    check_sides(folder / shape.autoencoder.name, expected)
    if has_text(folder):
        component_shapes(folder / "text_encoder", TRANSFORMERS)
    return shape


def read_autoencoder(component: Path) -> AutoencoderShape:
    """The numbers of an autoencoder's configuration."""
    path = component / "config.json"
    config = read_json(path)
    kind = str(config.get("_class_name"))
    if kind not in _SCALING_FACTORS:
        raise InputError(f"prior: {path} is of {shorten(kind)}; it must be of {' or '.join(_SCALING_FACTORS)}.")
    for key in ("latents_mean", "latents_std"):
        if config.get(key) is not None:
            raise InputError(f"prior: {path} has {key}: latents that are scaled by channel are not supported.")

    def number(key: str, default: Any) -> Any:
        value = config.get(key)
        value = default if value is None else value
        if not isinstance(value, int | float) or isinstance(value, bool) or (key != "shift_factor" and value <= 0):
            raise InputError(f"prior: {path} has {key} {shorten(value)}: it must be a number above 0.")
        return value

    blocks = config.get("block_out_channels", [64])
    if not isinstance(blocks, list) or not blocks:
        raise InputError(f"prior: {path} has block_out_channels {shorten(blocks)}: it must be a list of numbers.")
    latent = number("latent_channels", 3 if kind == "VQModel" else 4)
    return AutoencoderShape(
        name=component.name,
        kind=kind,
        image_channels=int(number("in_channels", 3)),
        latent_channels=int(number("vq_embed_dim", latent) if kind == "VQModel" else latent),
        factor=2 ** (len(blocks) - 1),
        scaling=float(number("scaling_factor", _SCALING_FACTORS[kind])),
        shift=float(number("shift_factor", 0.0)),
    )


def _check_text(folder: Path, width: int) -> None:
    path = folder / "text_encoder" / "config.json"
    kind = written_by(path)
    if kind != "CLIPTextModel":
        raise InputError(f"prior: {path} is of {shorten(kind)}; it must be of CLIPTextModel.")
    present = read_json(path).get("hidden_size", 512)
    if present != width:
        raise InputError(
            f"prior: {path} has hidden_size {shorten(present)}, and the UNet's cross_attention_dim is {width}."
        )
