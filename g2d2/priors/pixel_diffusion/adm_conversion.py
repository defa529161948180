"""Convert a checkpoint of ADM (guided-diffusion), such as DPS's of FFHQ and ImageNet, to diffusers' layout, exactly."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel
from torch import Tensor

from g2d2.priors.new_folders import require_new, written_whole
from g2d2.priors.pixel_diffusion.adm_layout import State, read_adm_shape, split_qkv
from g2d2.priors.plain_tensors import read_plain
from g2d2.priors.strict_weights import quiet_libraries
from operators.errors import InputError

_PARTS = ("to_q", "to_k", "to_v")


@dataclass(frozen=True)
class AdmSource:
    """A checkpoint, and what its tensors do not say. Defaults are those of the networks of 256x256 images."""

    checkpoint: Path
    side: int = 256
    """Of its images."""
    head_width: int = 64
    """Channels of an attention head."""
    qkv: Literal["interleaved", "separate"] = "interleaved"
    """How q, k and v are stored: head by head, or each whole (`use_new_attention_order`)."""
    schedule: Literal["linear", "squaredcos_cap_v2"] = "linear"
    """Of the betas; the latter is what ADM calls cosine."""


def convert_adm(source: AdmSource, out: str | Path) -> Path:
    """Write the prior's folder, as `DDPMPipeline` saves it, at once or not at all."""
    out = Path(out)
    require_new(out)
    unet, scheduler = adm_parts(source)
    with quiet_libraries(), written_whole(out) as folder:
        DDPMPipeline(unet=unet, scheduler=scheduler).save_pretrained(folder)
    return out


def adm_parts(source: AdmSource) -> tuple[UNet2DModel, DDPMScheduler]:
    """The network and the scheduler that a checkpoint makes."""
    if source.side < 1 or source.head_width < 1:
        raise InputError(f"size {source.side} and head width {source.head_width} must be above 0.")
    state = _read_state(source.checkpoint)
    shape = read_adm_shape(state, source.checkpoint)
    attending = [width for width, attends in zip(shape.widths, shape.attention, strict=True) if attends]
    for width in {*attending, shape.widths[-1]}:
        if width % source.head_width:
            raise InputError(
                f"head width: {source.head_width} does not divide the {width} channels of an attention; give the width "
                "of one head (num_head_channels)."
            )
    if source.side % 2 ** (len(shape.widths) - 1):
        raise InputError(f"size: {source.side} cannot be halved {len(shape.widths) - 1} times, as the network does.")
    with torch.device("meta"):  # no memory for numbers that are replaced at once
        unet = UNet2DModel(**shape.config(source.side, source.head_width))
    unet.load_state_dict(_renamed(unet.state_dict(), dict(shape.prefixes()), state, source), assign=True)
    scheduler = DDPMScheduler(
        beta_schedule=source.schedule, variance_type="learned_range" if shape.learned_variance else "fixed_large"
    )
    return unet, scheduler


def _read_state(path: Path) -> State:
    content = read_plain(path)
    if isinstance(content, Mapping) and isinstance(content.get("state_dict"), Mapping):
        content = content["state_dict"]
    if not isinstance(content, Mapping) or not all(isinstance(value, Tensor) for value in content.values()):
        raise InputError(f"checkpoint {path}: it must hold named tensors and nothing else.")
    return content


def _renamed(
    wanted: Mapping[str, Tensor], prefixes: Mapping[str, str], state: State, source: AdmSource
) -> dict[str, Tensor]:
    """Every tensor of the network from the checkpoint, of which none may be left over."""
    tensors, left = {}, set(state)
    for name, like in wanted.items():
        prefix, _, ending = name.rpartition(".")
        original = f"{prefixes[prefix]}.{ending}"
        if original not in state:
            raise InputError(f"checkpoint {source.checkpoint}: it has no tensor {original!r}.")
        value = state[original].float()
        part = prefix.rpartition(".")[2]
        if part in _PARTS:
            value = split_qkv(value, source.head_width, source.qkv == "interleaved")[_PARTS.index(part)]
        if value.ndim == like.ndim + 1:  # attention projects by convolutions over one axis
            value = value.squeeze(-1)
        if value.shape != like.shape:
            sides = ["x".join(map(str, shape)) for shape in (value.shape, like.shape)]
            raise InputError(f"checkpoint {source.checkpoint}: {original!r} is {sides[0]} and must be {sides[1]}.")
        tensors[name] = value.contiguous()
        left.discard(original)
    for name in sorted(left):
        raise InputError(
            f"checkpoint {source.checkpoint}: it has a tensor {name!r}, which such a network does not have."
        )
    return tensors
