"""The machine and what is installed on it."""

import os
import shutil
import sys
from importlib import metadata
from pathlib import Path
from tempfile import gettempdir

import torch
from packaging.requirements import Requirement

from operators.torchvision_guard import ensure_torchvision_imports
from pipelines.doctor.check import Finding

DISTRIBUTION = "g2d2-eval"
OLDEST_PYTHON = (3, 11)
LEAST_FREE = 2**30
"""Less room than this on a disk and results cannot be written."""
SCARCE = 10 * 2**30
_SHOWN = ("ray", "torch", "diffusers", "transformers", "pyarrow", "mlflow", "lpips", "clean-fid")


def python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST_PYTHON:
        return Finding("fail", f"Python is {version}: install {'.'.join(map(str, OLDEST_PYTHON))} or newer.")
    return Finding("ok", f"{version} at {sys.executable}")


def devices() -> Finding:
    """What torch computes on, and how much memory there is."""
    cuda = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
    gpus = ", ".join(f"{gpu.name} with {_gib(gpu.total_memory)}" for gpu in cuda) or "no GPU"
    memory = f", {_gib(_memory())} memory" if _memory() else ""
    return Finding("ok", f"{torch.__version__}: {gpus}; {os.cpu_count()} CPU cores{memory}")


def torchvision() -> Finding:
    """Its compiled part must fit torch, or our guard must stand in for it; LPIPS and priors import it."""
    stands_in = ensure_torchvision_imports()
    try:
        import torchvision as package  # type: ignore[import-untyped]
    except (ImportError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        return Finding("fail", f"torchvision cannot be imported ({reason}): install the release made for this torch.")
    built = " (its compiled part does not fit this torch; nothing here needs it)" if stands_in else ""
    return Finding("ok", f"{package.__version__}{built}")


def packages() -> Finding:
    """Every declared dependency is installed in a version that is allowed."""
    try:
        declared = [Requirement(line) for line in metadata.requires(DISTRIBUTION) or []]
    except metadata.PackageNotFoundError:
        return Finding(
            "note", f"{DISTRIBUTION} is not installed, so its dependencies are unknown: run `pip install -e .`."
        )
    wrong, versions = [], {}
    for requirement in declared:
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            versions[requirement.name] = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            wrong.append(f"{requirement.name} is missing")
            continue
        if not requirement.specifier.contains(versions[requirement.name], prereleases=True):
            wrong.append(f"{requirement.name} is {versions[requirement.name]}, not {requirement.specifier}")
    if wrong:
        return Finding("fail", f"{'; '.join(wrong)}: run `pip install --constraint constraints.txt -e .`.")
    return Finding("ok", ", ".join(f"{name} {versions[name]}" for name in _SHOWN if name in versions))


def disk() -> Finding:
    """Room in the working folder and for temporary files, where Ray spills."""
    places = {"here": Path.cwd(), "temporary files": Path(gettempdir())}
    free = {name: shutil.disk_usage(path).free for name, path in places.items()}
    text = ", ".join(f"{_gib(size)} free ({name})" for name, size in free.items())
    if min(free.values()) < LEAST_FREE:
        return Finding("fail", f"{text}: make room, at least {_gib(LEAST_FREE)}.")
    if min(free.values()) < SCARCE:
        return Finding("note", f"{text}: a sweep of thousands of pictures may need more; make room or use s3://.")
    return Finding("ok", text)


def _memory() -> int:
    """Bytes of main memory, 0 where the system has no such number."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
