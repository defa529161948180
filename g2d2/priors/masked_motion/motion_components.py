"""The parts of a masked motion prior: loaded strictly, each by its own class, and fitting each other."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from transformers import CLIPTextModelWithProjection, CLIPTokenizer

from g2d2.priors.clip_prompts import check_tokenizer
from g2d2.priors.masked_motion.motion_layout import NORMALISATION, WEIGHTS, check_motion_folder
from g2d2.priors.masked_motion.motion_transformer import MotionTransformer
from g2d2.priors.masked_motion.motion_vqvae import MotionVQVAE
from g2d2.priors.strict_weights import load_part
from operators import InputError
from operators.skeleton import MotionNormalisation


@dataclass
class MotionComponents:
    """The parts, under the names of their folders."""

    vqvae: Any
    transformer: Any
    text_encoder: Any
    tokenizer: Any
    normalisation: MotionNormalisation

    def save(self, folder: Path) -> None:
        """Every part in its own folder."""
        for name in MOTION_CLASSES:
            getattr(self, name).save_pretrained(folder / name)
        save_normalisation(folder, self.normalisation)


MOTION_CLASSES: dict[str, Any] = {
    "vqvae": MotionVQVAE,
    "transformer": MotionTransformer,
    "text_encoder": CLIPTextModelWithProjection,
    "tokenizer": CLIPTokenizer,
}


def load_motion_components(folder: Path) -> MotionComponents:
    """Every part of a prior's folder, checked and strictly loaded."""
    check_motion_folder(folder)
    parts = {name: load_motion_part(folder, name) for name in MOTION_CLASSES}
    check_tokenizer(folder, parts["tokenizer"], parts["text_encoder"].config)
    return MotionComponents(**parts, normalisation=load_normalisation(folder))


def load_motion_part(folder: Path, name: str) -> Any:
    """One part that has a folder of its own."""
    return load_part(MOTION_CLASSES[name], folder, name, weights=name in WEIGHTS)


def save_normalisation(folder: Path, normalisation: MotionNormalisation) -> None:
    """Mean and standard deviation of the features, in float32 whatever the networks are in."""
    path = folder / NORMALISATION
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: value.float().contiguous() for name, value in normalisation.tensors().items()}, path)


def load_normalisation(folder: Path) -> MotionNormalisation:
    """How the prior in a folder scales features."""
    path = folder / NORMALISATION
    try:
        return MotionNormalisation(**load_file(path))
    except InputError as error:
        raise InputError(f"prior: {path}: {error}") from None
    except (SafetensorError, OSError, TypeError) as error:  # TypeError: other names than these two
        reason = " ".join(str(error).split())[:120]
        raise InputError(f"prior: {path} does not hold the mean and std of the features ({reason}).") from None
