"""What a row was solved on: it can change the last bits of a result, decides no id, and is stored beside each row."""

import platform
from functools import cache
from pathlib import Path
from typing import Any

import torch

from pipelines.plan.sweep_spec import Resources

_CPU_FACTS = Path("/proc/cpuinfo")


def provenance(resources: Resources) -> dict[str, Any]:
    """Form of the networks, version of torch, its threads in this process, and the processor."""
    return {
        "networks": " ".join([resources.dtype, *resources.variants]),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "processor": processor(),
    }


@cache
def processor() -> str:
    """The processor's name and the instructions that torch uses of it."""
    lines = _CPU_FACTS.read_text(errors="replace").splitlines() if _CPU_FACTS.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{next(iter(names), platform.machine())} {torch.backends.cpu.get_cpu_capability()}"  # type: ignore[no-untyped-call]
