"""Pictures of a trained prior: sheets of images and loss curves."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
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


@dataclass(frozen=True)
class Panel:
    """One stage's curves over its steps."""

    title: str
    unit: str
    history: History
    lines: dict[str, tuple[str, str]]
    """Label and colour of each logged number that is drawn."""
    reference: tuple[str, float] | None = None
    """Label and height of a dotted line."""


def save_curves(panels: list[Panel], path: Path) -> None:
    """Draw the panels side by side, leaving out stages without a log."""
    panels = [panel for panel in panels if panel.history]
    figure = Figure(figsize=(4.5 * len(panels) + 0.5, 3.2), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for name, (label, colour) in panel.lines.items():
            rows = [row for row in panel.history if name in row]
            axes.plot([row["step"] for row in rows], [row[name] for row in rows], color=colour, label=label)
        if panel.reference is not None:
            label, height = panel.reference
            axes.axhline(height, color="#555555", linestyle=":", label=label)
        axes.set(title=panel.title, xlabel="step", ylabel=panel.unit)
        axes.legend(frameon=False, fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def rows_apart(images: list[Tensor], columns: int) -> Tensor:
    """Sets of as many images each, (N, 3, H, W), interleaved so that a sheet shows them row under row."""
    rows = zip(*(torch.split(part.cpu(), columns) for part in images), strict=True)
    return torch.cat([row for group in rows for row in group])
