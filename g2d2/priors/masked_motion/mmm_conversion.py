"""Convert MMM's two published checkpoints, which a user brings, to a folder that `load_prior` reads.

Shapes are read off the tensors; every tensor must be known and have its place. What tensors do not say is as published:
16 heads, and dilations of 9, 3 and 1.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from g2d2.priors.masked_motion.mmm_names import POSITIONS, TOKENISER, is_unused, transformer_name, vqvae_name
from g2d2.priors.masked_motion.motion_components import MotionComponents
from g2d2.priors.masked_motion.motion_transformer import MotionTransformer, sinusoids
from g2d2.priors.masked_motion.motion_vqvae import MotionVQVAE
from g2d2.priors.new_folders import require_new, written_whole
from g2d2.priors.plain_tensors import read_plain
from g2d2.priors.vq_diffusion.text_encoders import load_text_encoder
from operators.errors import InputError
from operators.skeleton import FEATURES, MotionNormalisation

State = Mapping[str, Tensor]
_HEADS = 16
_PAD_VALUE = 0
"""The token id that CLIP's own tokeniser fills prompts with."""


@dataclass(frozen=True)
class MmmSources:
    """The files a user brings."""

    checkpoint: Path
    """The transformer's `net_last.pth`."""
    vqvae: Path
    """The tokeniser's `net_last.pth`."""
    mean: Path
    """`mean.npy` of the normalisation it was trained with: the evaluator's, not that of the data set."""
    std: Path
    """`std.npy` beside it."""
    text_encoder: str = "openai/clip-vit-base-patch32"
    """Folder or hub id of the CLIP model it was trained with."""


def convert_mmm(sources: MmmSources, out: str | Path) -> Path:
    """Write the prior's folder at once, or not at all."""
    out = Path(out)
    require_new(out)
    components = convert_mmm_components(sources)
    with written_whole(out) as folder:
        components.save(folder)
    return out


def convert_mmm_components(sources: MmmSources) -> MotionComponents:
    """All parts of the prior."""
    tokeniser, transformer = _state(sources.vqvae, "net"), _state(sources.checkpoint, "trans")
    normalisation = MotionNormalisation(_array(sources.mean), _array(sources.std))
    _refuse_other_tokeniser(sources, transformer, tokeniser)
    vqvae = _convert_vqvae(tokeniser, sources.vqvae)
    network = _convert_transformer(transformer, vqvae.codebook, sources.checkpoint)
    tokenizer, encoder = load_text_encoder(sources.text_encoder, pooled=True, pad_value=_PAD_VALUE)
    width = network.config.text_width
    if not encoder.config.hidden_size == encoder.config.projection_dim == width:
        raise InputError(
            f"text encoder: {sources.text_encoder!r} has states of width {encoder.config.hidden_size} and pooled ones "
            f"of {encoder.config.projection_dim}; this checkpoint takes {width} of both."
        )
    return MotionComponents(vqvae, network, encoder, tokenizer, normalisation)


def _state(path: Path, entry: str) -> State:
    content = read_plain(path)
    state = content.get(entry) if isinstance(content, Mapping) else None
    if not isinstance(state, Mapping) or not all(isinstance(value, Tensor) for value in state.values()):
        raise InputError(f"checkpoint {path}: it has no entry {entry!r} of named tensors, as MMM's has.")
    return state


def _array(path: Path) -> Tensor:
    try:
        values = np.load(path, allow_pickle=False)
        return torch.from_numpy(np.asarray(values, np.float32))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is no array of numbers ({' '.join(str(error).split())[:120]}).") from None


def _refuse_other_tokeniser(sources: MmmSources, transformer: State, tokeniser: State) -> None:
    """The transformer's file holds the tokeniser that it was trained with."""
    inside = {name.removeprefix(TOKENISER): value for name, value in transformer.items() if name.startswith(TOKENISER)}
    same = inside.keys() == tokeniser.keys() and all(torch.equal(inside[name], tokeniser[name]) for name in inside)
    if not same:
        raise InputError(
            f"checkpoint {sources.checkpoint}: it was trained with another tokeniser than that of {sources.vqvae}."
        )


def _convert_vqvae(state: State, path: Path) -> MotionVQVAE:
    first = _tensor(state, "vqvae.encoder.model.0.weight", path)  # (W, 263, 3)
    codes = _tensor(state, "vqvae.quantizer.codebook", path)
    halvings = _count(state, r"vqvae\.encoder\.model\.(\d+)\.0\.weight")
    network: MotionVQVAE = MotionVQVAE(
        features=first.shape[1],
        width=first.shape[0],
        depth=_count(state, r"vqvae\.encoder\.model\.2\.1\.model\.(\d+)\.conv1\.weight"),
        halvings=halvings,
        codes=codes.shape[0],
        code_width=codes.shape[1],
    )
    if first.shape[1] != FEATURES:
        raise InputError(f"checkpoint {path}: it is made for {first.shape[1]} features per frame, not for {FEATURES}.")
    _fill(network, state, lambda name: vqvae_name(name, halvings), path)
    return network


def _convert_transformer(state: State, codebook: Tensor, path: Path) -> MotionTransformer:
    special = _tensor(state, "trans_base.learn_tok_emb.weight", path)
    pooled = _tensor(state, "trans_base.cond_emb.weight", path)  # (W, C)
    positions = _tensor(state, POSITIONS, path).flatten(1)  # (D + 2, W)
    base = _count(state, r"trans_base\.blocks\.(\d+)\.ln1\.weight")
    width = pooled.shape[0]
    if special.shape != (3, codebook.shape[1]):
        sides = "x".join(map(str, special.shape))
        raise InputError(f"checkpoint {path}: learn_tok_emb is {sides} and must be 3x{codebook.shape[1]}.")
    if width % _HEADS:
        raise InputError(f"checkpoint {path}: its width {width} is not a multiple of MMM's {_HEADS} heads.")
    expected = sinusoids(len(positions), width)
    if positions.shape != expected.shape or not torch.allclose(positions.float(), expected, atol=1e-3):
        raise InputError(f"checkpoint {path}: {POSITIONS} holds other places than the sines and cosines of MMM.")
    network: MotionTransformer = MotionTransformer(
        codes=codebook.shape[0],
        code_width=codebook.shape[1],
        tokens=len(positions) - 2,
        width=width,
        heads=_HEADS,
        word_layers=_count(state, r"trans_base\.cross_att\.(\d+)\.ln1\.weight"),
        layers=base + _count(state, r"trans_head\.blocks\.(\d+)\.ln1\.weight"),
        feed_forward=_tensor(state, "trans_head.blocks.0.mlp.0.weight", path).shape[0] // width,
        text_width=pooled.shape[1],
    )
    mine = {
        name: value
        for name, value in state.items()
        if not name.startswith(TOKENISER) and name != POSITIONS and not is_unused(name)
    }
    _fill(network, mine, lambda name: transformer_name(name, base), path, {"codebook": codebook})
    return network


def _tensor(state: State, name: str, path: Path) -> Tensor:
    if name not in state:
        raise InputError(f"checkpoint {path}: it has no tensor {name!r}, as MMM's has.")
    return state[name]


def _count(state: State, pattern: str) -> int:
    """How many layers match, by their numbers."""
    return len({match[1] for name in state if (match := re.fullmatch(pattern, name))})


def _fill(
    network: Any, state: State, rename: Callable[[str], str | None], path: Path, given: State | None = None
) -> None:
    """Every tensor in its place, and every place filled."""
    own, values = network.state_dict(), dict(given or {})
    for name, value in state.items():
        target = rename(name)
        if target is None or target not in own:
            raise InputError(f"checkpoint {path}: it has a tensor {name!r}, which MMM's has not.")
        if own[target].shape != value.shape:
            sides = ["x".join(map(str, shape)) for shape in (value.shape, own[target].shape)]
            raise InputError(f"checkpoint {path}: tensor {name!r} is {sides[0]} and must be {sides[1]}.")
        values[target] = value.float()
    for target in own.keys() - values.keys():
        raise InputError(f"checkpoint {path}: nothing in it gives {target!r}.")
    network.load_state_dict(values)
