"""Checkpoints of ADM (guided-diffusion): the shape of the network from its tensors, and what each is called here.

One level of the network is `layers` residual blocks, with attention in all of them or in none, and a residual block
that halves the image; the way up mirrors it with one block more per level. Blocks are numbered through all levels.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from operators.errors import InputError

State = Mapping[str, Tensor]

GROUPS = 32
"""Of every group norm; fixed in the original code."""

_RESNET = {
    "norm1": "in_layers.0",
    "conv1": "in_layers.2",
    "time_emb_proj": "emb_layers.1",
    "norm2": "out_layers.0",
    "conv2": "out_layers.3",
    "conv_shortcut": "skip_connection",
}
_ATTENTION = {"group_norm": "norm", "to_q": "qkv", "to_k": "qkv", "to_v": "qkv", "to_out.0": "proj_out"}
_TOP = {
    "conv_in": "input_blocks.0.0",
    "time_embedding.linear_1": "time_embed.0",
    "time_embedding.linear_2": "time_embed.2",
    "class_embedding": "label_emb",
    "conv_norm_out": "out.0",
    "conv_out": "out.2",
}


@dataclass(frozen=True)
class AdmShape:
    """The numbers that decide the shape of an ADM network."""

    in_channels: int
    out_channels: int
    widths: tuple[int, ...]
    """Channels by level, the largest images first."""
    layers: int
    attention: tuple[bool, ...]
    """By level."""
    scale_shift: bool
    classes: int | None

    @property
    def learned_variance(self) -> bool:
        """Whether half of the output is about the variance."""
        return self.out_channels == 2 * self.in_channels

    def config(self, side: int, head_width: int) -> dict[str, Any]:
        """Of a `UNet2DModel` that computes the same."""
        down = ["AttnDownBlock2D" if attends else "ResnetDownsampleBlock2D" for attends in self.attention]
        up = ["AttnUpBlock2D" if attends else "ResnetUpsampleBlock2D" for attends in reversed(self.attention)]
        return {
            "sample_size": side,
            "in_channels": self.in_channels,
            "out_channels": self.out_channels,
            "block_out_channels": self.widths,
            "layers_per_block": self.layers,
            "down_block_types": tuple(down),
            "up_block_types": tuple(up),
            "downsample_type": "resnet",
            "upsample_type": "resnet",
            "attention_head_dim": head_width,
            "norm_num_groups": GROUPS,
            "attn_norm_num_groups": GROUPS,
            "resnet_time_scale_shift": "scale_shift" if self.scale_shift else "default",
            "num_class_embeds": self.classes,
        }

    def prefixes(self) -> Iterator[tuple[str, str]]:
        """Beginnings of names here, each with that of the original."""
        yield from _TOP.items()
        yield from _resnet("mid_block.resnets.0", "middle_block.0")
        yield from _attention("mid_block.attentions.0", "middle_block.1")
        yield from _resnet("mid_block.resnets.1", "middle_block.2")
        levels = len(self.widths)
        for level, attends in enumerate(self.attention):
            first, up, last_up = 1 + level * (self.layers + 1), levels - 1 - level, self.layers
            for layer in range(self.layers):
                yield from _resnet(f"down_blocks.{level}.resnets.{layer}", f"input_blocks.{first + layer}.0")
                yield from _attention(f"down_blocks.{level}.attentions.{layer}", f"input_blocks.{first + layer}.1")
            yield from _resnet(f"down_blocks.{level}.downsamplers.0", f"input_blocks.{first + self.layers}.0")
            for layer in range(self.layers + 1):
                block = f"output_blocks.{up * (self.layers + 1) + layer}"
                yield from _resnet(f"up_blocks.{up}.resnets.{layer}", f"{block}.0")
                yield from _attention(f"up_blocks.{up}.attentions.{layer}", f"{block}.1")
                if layer == last_up:
                    yield from _resnet(f"up_blocks.{up}.upsamplers.0", f"{block}.{2 if attends else 1}")


def read_adm_shape(state: State, path: Path) -> AdmShape:
    """The shape of the network that a checkpoint holds, or one sentence on why it is none that is known."""
    for name in ("input_blocks.0.0.weight", "time_embed.0.weight", "middle_block.1.qkv.weight", "out.2.weight"):
        if name not in state:
            raise InputError(
                f"checkpoint {path}: it has no tensor {name!r}, so it is not one of ADM (guided-diffusion)."
            )
    for name in sorted(state):
        if re.fullmatch(r"(input_blocks\.\d+\.0\.op|output_blocks\.\d+\.\d\.conv)\.weight", name):
            raise InputError(
                f"checkpoint {path}: tensor {name!r} resizes by a convolution; supported are networks that do it in "
                "residual blocks (resblock_updown)."
            )
    down, up = (_count(state, side) for side in ("input_blocks", "output_blocks"))
    layers = next((block for block in range(up) if _has_upsampler(state, block)), up - 1)
    levels, rest = divmod(up, layers + 1)
    if rest or down != up or layers < 1:
        raise InputError(f"checkpoint {path}: {down} blocks down and {up} up are no whole levels of {layers} each.")
    starts = [1 + level * (layers + 1) for level in range(levels)]
    base = state["input_blocks.0.0.weight"].shape[0]
    widths = tuple(_entry(state, f"input_blocks.{start}.0.out_layers.3.weight", path).shape[0] for start in starts)
    if state["time_embed.0.weight"].shape != (4 * base, base) or widths[0] != base:
        raise InputError(
            f"checkpoint {path}: its first level is {widths[0]} wide and its time embedding is made for "
            f"{state['time_embed.0.weight'].shape[1]}; both must be {base}."
        )
    labels = state.get("label_emb.weight")
    embedding = _entry(state, "input_blocks.1.0.emb_layers.1.weight", path)
    return AdmShape(
        in_channels=state["input_blocks.0.0.weight"].shape[1],
        out_channels=state["out.2.weight"].shape[0],
        widths=widths,
        layers=layers,
        attention=tuple(f"input_blocks.{start}.1.qkv.weight" in state for start in starts),
        scale_shift=embedding.shape[0] == 2 * widths[0],
        classes=None if labels is None else labels.shape[0],
    )


def split_qkv(qkv: Tensor, head_width: int, interleaved: bool) -> tuple[Tensor, ...]:
    """q, k and v of a joint projection (3C, ...): of one head after the other, or each of all heads."""
    if not interleaved:
        return qkv.chunk(3)
    heads = qkv.shape[0] // (3 * head_width)
    q, k, v = qkv.view(heads, 3, head_width, *qkv.shape[1:]).transpose(0, 1).flatten(1, 2)
    return q, k, v


def _resnet(here: str, original: str) -> Iterator[tuple[str, str]]:
    yield from ((f"{here}.{own}", f"{original}.{name}") for own, name in _RESNET.items())


def _attention(here: str, original: str) -> Iterator[tuple[str, str]]:
    yield from ((f"{here}.{own}", f"{original}.{name}") for own, name in _ATTENTION.items())


def _count(state: State, side: str) -> int:
    return 1 + max((int(name.split(".")[1]) for name in state if name.startswith(f"{side}.")), default=-1)


def _has_upsampler(state: State, block: int) -> bool:
    place = 2 if f"output_blocks.{block}.1.qkv.weight" in state else 1
    return f"output_blocks.{block}.{place}.in_layers.0.weight" in state


def _entry(state: State, name: str, path: Path) -> Tensor:
    if name not in state:
        raise InputError(f"checkpoint {path}: it has no tensor {name!r}.")
    return state[name]
