"""Is this machine ready? Small checks, each one line of a report."""

from pipelines.doctor import assets, machine
from pipelines.doctor.check import Check, Finding, examine

CHECKS: list[tuple[str, Check]] = [
    ("python", machine.python),
    ("torch", machine.devices),
    ("torchvision", machine.torchvision),
    ("packages", machine.packages),
    ("lpips_vgg weights", assets.lpips_vgg),
    ("lpips_alex weights", assets.lpips_alex),
    ("inception", assets.inception),
    ("embedded prior", assets.prior),
    ("disk", machine.disk),
]
"""A further check is one line here."""

__all__ = ["CHECKS", "Check", "Finding", "examine"]
