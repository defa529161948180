"""`report_prior`: numbers, sheets and curves of an exported prior, written beside it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from g2d2.training.card import model_card
from g2d2.training.data import PROMPTS, fetch, load_split, to_float
from g2d2.training.evaluate import (
    Distance,
    balanced,
    count_codes,
    evaluate,
    sample,
    size_megabytes,
)
from g2d2.training.export import load_pipeline
from g2d2.training.figures import save_curves, save_sheet
from g2d2.training.heldout import write_held_out
from g2d2.training.loop import History
from g2d2.training.recipe import Recipe
from g2d2.training.train import pick_device
from g2d2.training.vqvae import decode_tokens, encode_tokens

HELD_OUT = 512
_GUIDED = (5.0, 0.86)
"""Guidance and truncation of the guided sheet: as VQ-Diffusion is usually sampled."""


def report_prior(
    recipe: Recipe,
    lpips: Distance | None = None,
    images: int = HELD_OUT,
    log: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Measure `out`/export on held-out images; write numbers, sheets, curves and the images themselves."""
    if recipe.threads is not None:
        torch.set_num_threads(recipe.threads)
    exported = recipe.out / "export"
    pipeline = load_pipeline(exported, pick_device(recipe.device))
    folder = recipe.data if recipe.data is not None else fetch(recipe.out / "data")
    held_out = balanced(load_split(folder, "test"), images)
    write_held_out(held_out, recipe.out / "heldout.parquet")

    codes = pipeline.vqvae.config.num_vq_embeddings
    counts = count_codes(load_file(recipe.out / "tokens.safetensors")["tokens"], codes)
    numbers = evaluate(pipeline, held_out, counts, lpips)
    numbers["megabytes"] = size_megabytes(exported)
    (recipe.out / "numbers.json").write_text(json.dumps(numbers, indent=2) + "\n")
    log(json.dumps(numbers, indent=2))

    vqvae, transformer = (_curve(recipe.out / f"{name}-curve.json") for name in ("vqvae", "transformer"))
    (exported / "README.md").write_text(model_card(recipe, numbers, vqvae, transformer))
    save_curves(vqvae, transformer, numbers["unigram_nats"], recipe.out / "curves.png")
    _reconstruction_sheet(pipeline, held_out.images[:40], recipe.out / "reconstructions.png")
    # One column per class, so that the prompt's effect is seen from column to column.
    for (guidance, truncation), name in (((1.0, 1.0), "samples.png"), (_GUIDED, "samples-guided.png")):
        drawn = sample(pipeline, list(PROMPTS) * 4, recipe.seed, guidance, truncation)
        save_sheet(drawn, len(PROMPTS), recipe.out / name)
    return numbers


def _curve(path: Path) -> History:
    """A stage's log; empty where a run took that stage from another prior."""
    history: History = json.loads(path.read_text()) if path.exists() else []
    return history


def _reconstruction_sheet(pipeline: Any, images: torch.Tensor, path: Path) -> None:
    """Rows of truths, each above the row of its reconstructions."""
    truth = to_float(images)
    decoded = decode_tokens(pipeline.vqvae, encode_tokens(pipeline.vqvae, images)).cpu()
    rows = [row for pair in zip(torch.split(truth, 10), torch.split(decoded, 10), strict=True) for row in pair]
    save_sheet(torch.cat(rows) / 2 + 0.5, 10, path)
