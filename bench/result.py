"""What a bench has measured, as one JSON file per bench and level: rows, ratios, and what they depend on."""

import os
import platform
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import psutil
import torch
from pydantic import BaseModel

from bench.other_work import QUIET
from bench.registry import Effort, Level

ROOT = Path(__file__).resolve().parents[1]


class Machine(BaseModel):
    """What a number depends on besides the code."""

    cores: int
    processor: str
    memory_gib: int
    python: str
    torch: str
    threads: int

    def differences(self, before: "Machine") -> list[str]:
        """What is not as it was before, as `cores 2 -> 4`."""
        now, then = self.model_dump(), before.model_dump()
        return [f"{name} {then[name]} -> {now[name]}" for name in now if now[name] != then[name]]


class Measured(BaseModel):
    """A ratio with its value, None where this level or this machine does not give it."""

    name: str
    value: float | None
    goal: float
    better: Literal["higher", "lower"]
    unit: str
    met: bool | None


class Result(BaseModel):
    """One bench, run once."""

    bench: str
    level: Level
    commit: str
    date: str
    seconds: float
    machine: Machine
    load: tuple[float, float]
    """Load averages of a minute, before and after."""
    busy: float = 0.0
    """Share of the cores that other work kept busy meanwhile, as whoever ran it in a process of its own has seen."""
    rows: list[dict[str, Any]] = []
    ratios: list[Measured] = []
    error: str | None = None

    @property
    def disturbed(self) -> bool:
        return self.busy > QUIET

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = result_path(folder, self.bench)
        part = path.with_suffix(".part")
        part.write_text(self.model_dump_json(indent=2) + "\n")
        part.replace(path)


def result_path(folder: Path, bench: str) -> Path:
    return folder / f"{bench}.json"


def read_result(folder: Path, bench: str) -> Result | None:
    """None where it was never measured, or by a program that wrote other files."""
    path = result_path(folder, bench)
    try:
        return Result.model_validate_json(path.read_text())
    except (FileNotFoundError, ValueError):
        return None


class Clock:
    """Facts of the moment in which a bench begins, and its result when it ends."""

    def __init__(self, bench: str, effort: Effort, started: float | None = None):
        self.bench, self.effort = bench, effort
        self.started = started or time.time()
        self.load = os.getloadavg()[0]

    def result(self, **measured: Any) -> Result:
        return Result(
            bench=self.bench,
            level=self.effort.level,
            commit=commit(),
            date=datetime.now(UTC).strftime("%Y-%m-%d"),
            seconds=time.time() - self.started,
            machine=machine(self.effort.threads),
            load=(self.load, os.getloadavg()[0]),
            **measured,
        )


def machine(threads: int) -> Machine:
    return Machine(
        cores=os.cpu_count() or 1,
        processor=_processor(),
        memory_gib=round(psutil.virtual_memory().total / 2**30),
        python=platform.python_version(),
        torch=torch.__version__,
        threads=threads,
    )


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text().splitlines() if facts.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def commit() -> str:
    """The commit that is checked out, with `-dirty` where files differ from it."""
    words = ["git", "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"]
    try:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return "unknown"
    return done.stdout.strip() or "unknown"
