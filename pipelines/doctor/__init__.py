"""Is this machine ready? Small checks, each one line of a report."""

from functools import partial

from pipelines.doctor import assets, machine, services
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
    ("ray token", services.ray_token),
]
"""A further check is one line here."""


def checks(ray: str | None = None, store: str | None = None, tracking: str | None = None) -> list[tuple[str, Check]]:
    """All of them, with those of the services that these addresses, or the environment, name."""
    return [
        *CHECKS,
        ("ray", partial(services.ray, ray)),
        ("store", partial(services.store, store)),
        ("mlflow", partial(services.mlflow, tracking)),
    ]


__all__ = ["CHECKS", "Check", "Finding", "checks", "examine"]
