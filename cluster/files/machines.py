"""Which machine of which cloud has which GPU."""

from dataclasses import dataclass
from typing import Literal

from operators import InputError

Gpu = Literal["T4", "A10G", "L4", "A100", "H100"]


@dataclass(frozen=True)
class Machine:
    """A machine type, and what Ray may count on."""

    type: str
    cpus: int
    accelerator: str | None = None
    """GPU that Google attaches to a general machine; None where the machine type has it built in."""


GPUS: dict[Gpu, dict[str, dict[int, Machine]]] = {
    "T4": {
        "aws": {1: Machine("g4dn.xlarge", 4), 4: Machine("g4dn.12xlarge", 48)},
        "gcp": {
            count: Machine(f"n1-standard-{8 * count}", 8 * count, accelerator="nvidia-tesla-t4") for count in (1, 2, 4)
        },
    },
    "A10G": {"aws": {1: Machine("g5.xlarge", 4), 4: Machine("g5.12xlarge", 48), 8: Machine("g5.48xlarge", 192)}},
    "L4": {
        "aws": {1: Machine("g6.xlarge", 4), 4: Machine("g6.12xlarge", 48), 8: Machine("g6.48xlarge", 192)},
        "gcp": {
            1: Machine("g2-standard-8", 8),
            2: Machine("g2-standard-24", 24),
            4: Machine("g2-standard-48", 48),
            8: Machine("g2-standard-96", 96),
        },
    },
    "A100": {
        "aws": {8: Machine("p4d.24xlarge", 96)},
        "gcp": {count: Machine(f"a2-highgpu-{count}g", 12 * count) for count in (1, 2, 4, 8)},
    },
    "H100": {"aws": {8: Machine("p5.48xlarge", 192)}, "gcp": {8: Machine("a3-highgpu-8g", 208)}},
}
"""By GPU, cloud and number of GPUs: the smallest machine that feeds them."""


def machine(gpu: Gpu, cloud: str, count: int) -> Machine:
    """The machine with so many of these GPUs, or an InputError that names what there is."""
    offered = GPUS[gpu].get(cloud, {})
    if count in offered:
        return offered[count]
    if offered:
        raise InputError(f"workers.gpus is {count}: {cloud} has {gpu} in machines of {_either(list(offered))}.")
    others = [name for name, clouds in GPUS.items() if cloud in clouds]
    raise InputError(f"gpu is {gpu!r}: {cloud} has no such machine; choose {_either(others)}.")


def _either(options: list[int] | list[Gpu]) -> str:
    *first, last = map(str, options)
    return f"{', '.join(first)} or {last}" if first else last
