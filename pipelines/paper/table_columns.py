"""Columns of the paper's tables: their headings, units and which way is better."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """How a metric is shown."""

    heading: str
    better: int
    """+1 where more is better, -1 where less is, 0 where neither."""

    digits: int
    printed_as: str
    """Its name in the paper's tables."""

    unit: float = 1.0
    """Our value divided by this is what is shown."""

    def value(self, ours: float) -> float:
        """In the unit of the heading."""
        return ours / self.unit

    def text(self, value: float, sign: bool = False) -> str:
        return f"{value:+.{self.digits}f}" if sign else f"{value:.{self.digits}f}"


COLUMNS = {
    "psnr": Column("PSNR", +1, 2, "psnr"),
    "ssim": Column("SSIM", +1, 3, "ssim"),
    "lpips_vgg": Column("LPIPS", -1, 3, "lpips"),
    "residual": Column("residual", 0, 2, "residual"),
    "seconds": Column("seconds", -1, 2, "seconds"),
    "peak_bytes": Column("memory, GiB", -1, 2, "peak_bytes", 2.0**30),
    "fid": Column("FID", -1, 2, "fid"),
    "kid": Column("KID x100", -1, 2, "kid_x100", 0.01),
}
"""What a table may show; LPIPS is VGG's."""

DISTANCES = ("fid", "kid")
"""Columns of which a cell has one value, not one per image."""

TASKS = {"sr4": "SR x4", "gaussian-deblur": "Gaussian deblurring"}
"""The paper's tasks, with their headings."""


def paper_task(task: str) -> str:
    """`sr4-32` and `sr4-256` are the paper's `sr4`."""
    return task.rpartition("-")[0] if task.rpartition("-")[2].isdigit() else task
