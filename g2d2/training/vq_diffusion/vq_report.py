"""`report_vq_diffusion`: numbers, sheets and curves of an exported prior, written beside it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from torch import Tensor

from g2d2.training.data import PROMPTS, balanced, to_float
from g2d2.training.figures import Panel, rows_apart, save_curves, save_sheet
from g2d2.training.folders import size_megabytes
from g2d2.training.heldout import write_held_out
from g2d2.training.image_scores import Distance
from g2d2.training.loop import History
from g2d2.training.reporting import write_report
from g2d2.training.run import read_curve, read_split, take_device
from g2d2.training.token_statistics import count_codes
from g2d2.training.vq_diffusion.token_measures import evaluate, sample
from g2d2.training.vq_diffusion.vq_card import model_card
from g2d2.training.vq_diffusion.vq_export import load_pipeline
from g2d2.training.vq_diffusion.vq_recipe import VQDiffusionRecipe
from g2d2.training.vq_diffusion.vqvae import decode_tokens, encode_tokens

HELD_OUT = 512
_GUIDED = (5.0, 0.86)
"""Guidance and truncation of the guided sheet: as VQ-Diffusion is usually sampled."""


def report_vq_diffusion(
    recipe: VQDiffusionRecipe,
    lpips: Distance | None = None,
    images: int = HELD_OUT,
    log: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Measure `out`/export on held-out images; write numbers, sheets, curves and the images themselves."""
    exported = recipe.exported
    pipeline = load_pipeline(exported, take_device(recipe))
    held_out = balanced(read_split(recipe, "test"), images)
    write_held_out(held_out, recipe.out / "heldout.parquet")

    codes = pipeline.vqvae.config.num_vq_embeddings
    counts = count_codes(load_file(recipe.out / "tokens.safetensors")["tokens"], codes)
    numbers = evaluate(pipeline, held_out, counts, lpips)
    numbers["megabytes"] = size_megabytes(exported)
    curves = {name: read_curve(recipe.out, name) for name in ("vqvae", "transformer")}
    write_report(recipe, numbers, curves, model_card(recipe, numbers, curves["vqvae"], curves["transformer"]), log)
    save_curves(_panels(curves, numbers["unigram_nats"]), recipe.out / "curves.png")
    _reconstruction_sheet(pipeline, held_out.images[:40], recipe.out / "reconstructions.png")
    # One column per class, so that the prompt's effect is seen from column to column.
    for (guidance, truncation), name in (((1.0, 1.0), "samples.png"), (_GUIDED, "samples-guided.png")):
        drawn = sample(pipeline, list(PROMPTS) * 4, recipe.seed, guidance, truncation)
        save_sheet(drawn, len(PROMPTS), recipe.out / name)
    return numbers


def _panels(curves: dict[str, History], unigram: float) -> list[Panel]:
    """PSNR of the tokeniser, where it was trained, and loss of the prior against the unigram baseline."""
    lines = {
        "loss": ("training batch, changed tokens", "#c9c9c9"),
        "held_out_nats": ("held out, changed tokens", "#b5462f"),
        "held_out_kept": ("held out, kept tokens", "#2f7d5b"),
    }
    return [
        Panel("Tokeniser", "PSNR [dB]", curves["vqvae"], {"held_out_psnr": ("held out", "#1f5fa8")}),
        Panel("Prior", "nats per token", curves["transformer"], lines, ("unigram", unigram)),
    ]


def _reconstruction_sheet(pipeline: Any, images: Tensor, path: Path) -> None:
    """Rows of truths, each above the row of its reconstructions."""
    decoded = decode_tokens(pipeline.vqvae, encode_tokens(pipeline.vqvae, images)).cpu()
    save_sheet(rows_apart([to_float(images), decoded], 10) / 2 + 0.5, 10, path)
