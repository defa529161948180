"""The VQ reconstruction of the truth: what no solver with this tokeniser can be expected to beat.

python examples/cifar10/ceiling.py out/cifar10/ceiling
g2d2 eval out/cifar10/ceiling/truth.parquet out/cifar10/ceiling/reconstruction.parquet --metrics psnr ssim lpips_vgg
"""

import sys
from pathlib import Path

import pyarrow.parquet as pq
import torch

from g2d2 import load_prior
from g2d2.priors.catalog import EMBEDDED
from g2d2.relaxation import lookup
from operators.pictures import decode_image, encode_png, to_picture

LIMIT = 128


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    table = pq.read_table(EMBEDDED / "cifar10-heldout.parquet", columns=["id", "image"]).slice(0, LIMIT)
    prior = load_prior("cifar10")
    truths = torch.stack([decode_image(row["image"], row["id"]) for row in table.to_pylist()])
    with torch.no_grad():
        images = prior.decode(lookup(prior.encode(truths), prior.codebook))
    pq.write_table(table, out / "truth.parquet")
    pictures = [[encode_png(to_picture(image)) for image in images]]
    pq.write_table(table.set_column(1, "image", pictures), out / "reconstruction.parquet")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
