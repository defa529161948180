"""Pictures of a trained prior: sheets of images and loss curves."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from torch import Tensor

from g2d2.training.loop import History


def save_sheet(images: Tensor, columns: int, path: Path, zoom: int = 2, gap: int = 2) -> None:
    """Tile images in [0, 1], (N, 3, H, W), row by row on white."""
    pixels = (images.clamp(0, 1) * 255).round().byte().permute(0, 2, 3, 1).cpu().numpy()
    pixels = pixels.repeat(zoom, axis=1).repeat(zoom, axis=2)
    count, height, width, _ = pixels.shape
    rows = -(-count // columns)
    sheet = np.full((rows * (height + gap) + gap, columns * (width + gap) + gap, 3), 255, np.uint8)
    for index, tile in enumerate(pixels):
        top = gap + index // columns * (height + gap)
        left = gap + index % columns * (width + gap)
        sheet[top : top + height, left : left + width] = tile
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(sheet).save(path, optimize=True)


def save_curves(vqvae: History, transformer: History, unigram_nats: float | None, path: Path) -> None:
    """Held-out PSNR of the tokeniser, where it was trained, and loss of the prior against the unigram baseline."""
    figure = Figure(figsize=(9 if vqvae else 5, 3.2), layout="constrained")
    (*first, last), *_ = figure.subplots(1, 2 if vqvae else 1, squeeze=False)
    for axes in first:
        measured = [row for row in vqvae if "held_out_psnr" in row]
        axes.plot([row["step"] for row in measured], [row["held_out_psnr"] for row in measured], color="#1f5fa8")
        axes.set(title="Tokeniser", xlabel="step", ylabel="held-out PSNR [dB]")
    steps = [row["step"] for row in transformer]
    lines = {
        "loss": ("training batch, changed tokens", "#c9c9c9"),
        "held_out_nats": ("held out, changed tokens", "#b5462f"),
        "held_out_kept": ("held out, kept tokens", "#2f7d5b"),
    }
    for name, (label, colour) in lines.items():
        if all(name in row for row in transformer):  # earlier runs measured less
            last.plot(steps, [row[name] for row in transformer], color=colour, label=label)
    if unigram_nats is not None:
        last.axhline(unigram_nats, color="#555555", linestyle=":", label="unigram")
    last.set(title="Prior", xlabel="step", ylabel="nats per token")
    last.legend(frameon=False, fontsize=8)
    for axes in (*first, last):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
