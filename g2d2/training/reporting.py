"""What the reports of all families share: the numbers' file, the tables of the card, the line on training."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from g2d2.training.loop import History
from g2d2.training.settings import Recipe


def write_report(
    recipe: Recipe, numbers: dict[str, Any], curves: dict[str, History], card: str, log: Callable[[str], None]
) -> None:
    """Write `numbers.json` beside the exported folder; into it the card and, as JSON, all that it rests on."""
    text = json.dumps(numbers, indent=2)
    log(text)
    (recipe.out / "numbers.json").write_text(text + "\n")
    (recipe.exported / "README.md").write_text(card)
    fixed = json.loads(recipe.model_dump_json(include=set(recipe.fixed)))
    settings = {name: value for name, value in fixed.items() if not isinstance(getattr(recipe, name), Path)}
    record = {"family": recipe.family, "settings": settings, "held_out": numbers, "curves": curves}
    (recipe.exported / "training.json").write_text(json.dumps(record, indent=1) + "\n")


def count_parameters(components: dict[str, Any]) -> dict[str, int]:
    """Parameters of each network among a pipeline's components."""
    networks = {name: part for name, part in components.items() if isinstance(part, torch.nn.Module)}
    return {name: sum(weight.numel() for weight in network.parameters()) for name, network in networks.items()}


def training_line(history: History, batch: int, rows: str = "images") -> str:
    """Steps, rows of a batch and minutes of a stage, for the card."""
    last = history[-1]
    return f"{int(last['step'])} steps of {batch} {rows}, {last['seconds'] / 60:.0f} minutes"


def reconstruction_rows(scores: dict[str, float]) -> str:
    """Rows of the card's table on reconstructions."""
    rows = [f"| PSNR | {scores['psnr']:.2f} dB |"]
    if "lpips" in scores:
        rows.append(f"| LPIPS (VGG) | {scores['lpips']:.3f} |")
    return "\n".join(rows)


def nats_rows(nats: dict[str, dict[str, float]]) -> str:
    """Rows of the card's table on masked tokens: nats and perplexity with and without the prompt, p of tokens left."""
    return "\n".join(
        f"| {share} | {pair['conditional']:.3f} | {math.exp(pair['conditional']):.1f} "
        f"| {pair['unconditional']:.3f} | {math.exp(pair['unconditional']):.1f} "
        f"| {format(pair['kept'], '.3f') if 'kept' in pair else ''} |"
        for share, pair in nats.items()
    )
