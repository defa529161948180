"""The held-out images shipped with the prior, as one Parquet file."""

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from g2d2.training.data import CLASSES, PROMPTS, Split

ATTRIBUTION = "CIFAR-10 test split; A. Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009"


def write_held_out(split: Split, path: Path) -> None:
    """One row per image: id, PNG bytes, label index, class name and prompt."""
    rows = []
    seen: dict[int, int] = {}
    for image, label in zip(split.images, split.labels.tolist(), strict=True):
        rank = seen[label] = seen.get(label, -1) + 1
        rows.append(
            {
                "id": f"{CLASSES[label]}-{rank:03d}",
                "image": _png(image.permute(1, 2, 0).numpy()),
                "label": label,
                "class": CLASSES[label],
                "prompt": PROMPTS[label],
            }
        )
    table = pa.Table.from_pylist(rows).replace_schema_metadata({"attribution": ATTRIBUTION})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="zstd")


def _png(pixels: object) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", optimize=True)  # type: ignore[arg-type]
    return buffer.getvalue()
