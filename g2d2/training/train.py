"""`train_prior`: data, tokeniser, tokens, prior, export, in this order and resumable at every point."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import torch
from diffusers import VQModel
from safetensors.torch import load_file, save_file
from torch import Tensor

from g2d2.priors.loading import load_component
from g2d2.training.data import Split, fetch, load_split
from g2d2.training.export import export_prior
from g2d2.training.loop import run_stage
from g2d2.training.recipe import Recipe
from g2d2.training.transformer import TransformerStage
from g2d2.training.vqvae import VQVAEStage, encode_tokens, token_side
from operators.errors import InputError
from operators.torch_device import usable_device

_HELD_OUT_IMAGES = 512
_HELD_OUT_TOKENS = 128
# What decides the result; budgets, folders and devices may change between a run and its resumption.
_FIXED = {"seed", "start", "vqvae", "transformer"}


def train_prior(recipe: Recipe, log: Callable[[str], None] = print) -> Path:
    """Train both stages, or go on where an earlier run stopped; return the exported folder."""
    _claim(recipe)
    if recipe.threads is not None:
        torch.set_num_threads(recipe.threads)
    device = pick_device(recipe.device)
    folder = recipe.data if recipe.data is not None else fetch(recipe.out / "data")
    train, test = load_split(folder, "train"), load_split(folder, "test")
    log(f"{len(train)} training images, {len(test)} test images, on {device}")

    encoded = recipe.out / "tokens.safetensors"
    vqvae = _tokeniser(recipe, train, test, encoded, device)

    log("encoding the training images, flips included")
    tokens = _training_tokens(encoded, vqvae, train)
    held_out = encode_tokens(vqvae, test.images[:_HELD_OUT_TOKENS]), test.labels[:_HELD_OUT_TOKENS]
    second = TransformerStage(recipe, tokens, train.labels, held_out, token_side(recipe.vqvae), device)
    if recipe.start is not None:
        second.start_from(recipe.start)
    exported = recipe.out / "export"

    def export() -> None:
        export_prior(exported, vqvae, second.average, second.scheduler)

    _write_curve(recipe.out, second.name, run_stage(second, recipe.transformer_limits, recipe.out, on_save=export))
    export()
    log(f"exported to {exported}")
    return exported


def _tokeniser(recipe: Recipe, train: Split, test: Split, encoded: Path, device: torch.device) -> VQModel:
    if recipe.start is not None:
        given = load_component(recipe.start, "vqvae")
        shape = {name: value for name, value in given.config.items() if not name.startswith("_")}  # not where it lay
        vqvae: VQModel = VQModel.from_config(shape)
        vqvae.load_state_dict(given.state_dict())
        return vqvae.to(device).eval().requires_grad_(False)
    stage = VQVAEStage(recipe, train, test.images[:_HELD_OUT_IMAGES], device)
    # A larger budget must not move the codes under tokens that the prior has already learnt from.
    history = run_stage(stage, recipe.vqvae_limits, recipe.out, frozen=encoded.exists())
    _write_curve(recipe.out, stage.name, history)
    return stage.vqvae.eval().requires_grad_(False)


def pick_device(name: str) -> torch.device:
    """`auto` takes a GPU when there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return usable_device(name)


def _claim(recipe: Recipe) -> None:
    """Remember the recipe beside its checkpoints, and refuse to mix two recipes in one folder."""
    recipe.out.mkdir(parents=True, exist_ok=True)
    path = recipe.out / "recipe.json"
    mine = json.loads(recipe.model_dump_json())
    if path.exists():
        before = json.loads(path.read_text())
        changed = sorted(key for key in _FIXED if before.get(key) != mine.get(key))
        if changed:
            raise InputError(f"{recipe.out} holds a run with another {', '.join(changed)}: use a new folder")
    path.write_text(json.dumps(mine, indent=2) + "\n")


def _training_tokens(path: Path, vqvae: VQModel, train: Split) -> Tensor:
    """Tokens of all training images and of their mirror images, (2, N, D), computed once."""
    if not path.exists():
        small = torch.int16 if vqvae.config.num_vq_embeddings <= 2**15 else torch.int32
        sides = (train.images, train.images.flip(3))
        tokens = torch.stack([encode_tokens(vqvae, images).to(small) for images in sides])
        partial = path.with_suffix(".partial")
        save_file({"tokens": tokens}, partial)
        os.replace(partial, path)
    return load_file(path)["tokens"]


def _write_curve(folder: Path, name: str, history: list[dict[str, float]]) -> None:
    (folder / f"{name}-curve.json").write_text(json.dumps(history, indent=1) + "\n")
