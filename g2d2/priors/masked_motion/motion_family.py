"""The family of masked motion priors: a folder per component, as diffusers lays them out. Imports no model library."""

from pathlib import Path
from typing import Any, Unpack

from g2d2.priors.base import Discrete, PriorFacts
from g2d2.priors.clip_prompts import TokenCounter
from g2d2.priors.component_files import written_by
from g2d2.priors.families import Family, NetworkForm
from g2d2.priors.masked_motion.motion_layout import (
    CONFIG_FILES,
    LEVELS,
    MOTION_COMPONENTS,
    check_motion_folder,
    motion_files,
    read_motion_shape,
    require_motion_files,
)
from operators import InputError
from operators.skeleton.joint_names import FEATURES


class MaskedMotion(Family):
    """A text encoder, a masked transformer over tokens, the VQ-VAE that decodes them, and its normalisation."""

    name = "masked_motion"
    kind = Discrete
    looks_for = f"folders {', '.join(MOTION_COMPONENTS)}, with a MotionVQVAE and a MotionTransformer"
    hub_patterns = (
        *(f"{name}/*.{ending}" for name in CONFIG_FILES for ending in ("json", "txt", "safetensors")),
        "normalisation/*.safetensors",
    )

    def recognises(self, folder: Path) -> bool:
        """By either network's configuration, so that of a damaged folder the part that is missing can be named."""
        return (
            written_by(folder / "vqvae" / "config.json") == "MotionVQVAE"
            or written_by(folder / "transformer" / "config.json") == "MotionTransformer"
        )

    def files(self, folder: Path) -> list[Path]:
        require_motion_files(folder)
        return motion_files(folder)

    def require_files(self, folder: Path) -> None:
        require_motion_files(folder)

    def check_files(self, folder: Path) -> None:
        check_motion_folder(folder)

    def describe(self, folder: Path) -> dict[str, str]:
        require_motion_files(folder)
        shape = read_motion_shape(folder)
        layers = f"{shape.layers} layers of width {shape.width}, no timestep, text width {shape.text_width}"
        return {"shape": str(shape), "transformer": layers}

    def facts(self, folder: Path) -> PriorFacts:
        shape = check_motion_folder(folder)
        count = TokenCounter(folder, _load_part)
        return PriorFacts(Discrete, "motion", (shape.frames, FEATURES), LEVELS, count.limit, count)

    def load(self, folder: Path, **form: Unpack[NetworkForm]) -> Discrete:
        from g2d2.priors.masked_motion.motion_components import load_motion_components  # model libraries
        from g2d2.priors.masked_motion.motion_prior import MaskedMotionPrior

        if form["channels_last"]:
            raise InputError("channels_last is for priors of images; leave it out for one of motion.")
        return MaskedMotionPrior(
            load_motion_components(folder),
            device=form["device"],
            dtype=form["dtype"],
            compile_networks=form["compile_networks"],
            rows=form["rows"],
        )


def _load_part(folder: Path, name: str) -> Any:
    from g2d2.priors.masked_motion.motion_components import load_motion_part  # model libraries

    return load_motion_part(folder, name)
