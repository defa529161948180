"""The family of pixel diffusion models as `DDPMPipeline` saves them. Imports no model library."""

from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from g2d2.priors.base import Diffusion, PriorFacts
from g2d2.priors.class_labels import CLASSES_FILE, ClassLabels, no_prompt, read_classes
from g2d2.priors.component_files import DIFFUSERS, has_safetensors, written_by
from g2d2.priors.families import Family, NetworkForm
from g2d2.priors.gaussian_noise import GaussianNoise
from g2d2.priors.unet_files import (
    SCHEDULER_FILE,
    UNetShape,
    check_unet_weights,
    is_pickled,
    network_files,
    read_scheduler,
    read_unet,
    require_network,
)
from operators import InputError

_PIPELINES = ("DDPMPipeline", "DDIMPipeline", "PNDMPipeline")
_UNETS = ("UNet2DModel", "UNetUnconditionalModel")
_OTHER_PARTS = ("vae", "vqvae", "text_encoder", "transformer", "movq", "image_encoder")
"""Components that a model of pixels does not have."""


@dataclass(frozen=True)
class PixelFolder:
    """Where a pixel diffusion model keeps its two parts: each in its own folder, or both at the top."""

    unet: Path
    scheduler: Path

    @classmethod
    def of(cls, folder: Path) -> "PixelFolder":
        nested = [folder / name for name in ("unet", "scheduler")]
        return cls(*(part if part.is_dir() else folder for part in nested))

    def read(self) -> tuple[UNetShape, GaussianNoise]:
        """The numbers of both configurations."""
        noise = read_scheduler(self.scheduler)
        return read_unet(self.unet, noise, _UNETS[:1]), noise


class PixelDiffusion(Family):
    """A UNet over pixels with a scheduler, unconditional or class-conditional."""

    name = "pixel_diffusion"
    kind = Diffusion
    looks_for = "a DDPMPipeline as diffusers saves it: a UNet2DModel and its scheduler, in folders or at the top"
    hub_patterns = (
        "model_index.json",
        CLASSES_FILE,
        SCHEDULER_FILE,
        "config.json",
        "diffusion_pytorch_model*.safetensors*",
        "scheduler/*.json",
        "unet/*.json",
        "unet/*.safetensors",
    )

    def recognises(self, folder: Path) -> bool:
        if any((folder / part).exists() for part in _OTHER_PARTS):
            return False
        if written_by(folder / "model_index.json") in _PIPELINES:
            return True
        return written_by(PixelFolder.of(folder).unet / "config.json") in _UNETS

    def files(self, folder: Path) -> list[Path]:
        self.require_files(folder)
        parts = PixelFolder.of(folder)
        classes = folder / CLASSES_FILE
        return [
            *network_files(parts.unet),
            parts.scheduler / SCHEDULER_FILE,
            *([classes] if classes.is_file() else []),
        ]

    def other_weights(self, folder: Path) -> list[str]:
        """Plain pickled tensors where there are no safetensors."""
        unet = PixelFolder.of(folder).unet
        if has_safetensors(unet, DIFFUSERS):
            return []
        return ["diffusion_pytorch_model*.bin*" if unet == folder else "unet/*.bin*"]

    def require_files(self, folder: Path) -> None:
        parts = PixelFolder.of(folder)
        require_network(parts.unet, "unet")
        if not (parts.scheduler / SCHEDULER_FILE).is_file():
            raise InputError(
                f"prior: component 'scheduler' is incomplete: {parts.scheduler / SCHEDULER_FILE} is missing."
            )

    def check_files(self, folder: Path) -> None:
        self.require_files(folder)
        parts = PixelFolder.of(folder)
        shape, noise = parts.read()
        _labels(folder, shape)
        check_unet_weights(parts.unet, shape, noise)

    def describe(self, folder: Path) -> dict[str, str]:
        shape, noise = PixelFolder.of(folder).read()
        return {"shape": _words(shape), "denoiser": shape.words(noise)}

    def facts(self, folder: Path) -> PriorFacts:
        parts = PixelFolder.of(folder)
        if is_pickled(parts.unet):
            self.require_files(folder)
        else:
            self.check_files(folder)
        shape, noise = parts.read()
        labels = _labels(folder, shape)
        steps = len(noise.alpha_bar)
        if labels is None:
            return PriorFacts(Diffusion, "image", shape.z_shape, steps, misfit=no_prompt, guided="no row")
        return PriorFacts(Diffusion, "image", shape.z_shape, steps, misfit=labels.misfit)

    def load(self, folder: Path, **form: Unpack[NetworkForm]) -> Diffusion:
        from diffusers import UNet2DModel  # model libraries

        from g2d2.priors.strict_weights import load_part
        from g2d2.priors.unet_conditions import Classes, Nothing
        from g2d2.priors.unet_prior import UNetPrior

        self.check_files(folder)
        parts = PixelFolder.of(folder)
        shape, noise = parts.read()
        labels = _labels(folder, shape)
        return UNetPrior(
            load_part(UNet2DModel, folder, "" if parts.unet == folder else parts.unet.name),
            noise,
            Nothing() if labels is None else Classes(labels),
            **form,
        )


def _labels(folder: Path, shape: UNetShape) -> ClassLabels | None:
    return None if shape.classes is None else read_classes(folder, shape.classes)


def _words(shape: UNetShape) -> str:
    height, width = shape.size
    return f"{width}x{height} pixels"
