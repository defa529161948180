"""`bench/accepted.json`: the ratios of one whole run, in the repository, which later runs are compared with."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from bench.other_work import QUIET
from bench.registry import SUITE, Level
from bench.result import Machine, Result, read_result
from operators import InputError

ACCEPTED = Path(__file__).parent / "accepted.json"
AGAIN = "run `python -m bench --resume`."


class AcceptedBench(BaseModel):
    """What one bench gave, how long it took, and what else the machine did."""

    seconds: float
    load: tuple[float, float]
    busy: float
    ratios: dict[str, float | None]

    @property
    def disturbed(self) -> bool:
        return self.busy > QUIET


class Accepted(BaseModel):
    """A whole run of one level, commit and machine."""

    level: Level
    commit: str
    date: str
    machine: Machine
    benches: dict[str, AcceptedBench]

    def write(self, path: Path) -> None:
        path.write_text(self.model_dump_json(indent=2) + "\n")


def read_accepted(path: Path = ACCEPTED) -> Accepted | None:
    """None where nothing was accepted yet."""
    return Accepted.model_validate_json(path.read_text()) if path.exists() else None


def accept(folder: Path, suite: Sequence[str] = SUITE) -> Accepted:
    """The results of a folder as one; refused unless they are all there, whole, and of one commit and machine."""
    results = [_whole(folder, name) for name in suite]
    first = results[0]
    for result in results:
        for what in ("level", "commit", "machine"):
            here, there = getattr(result, what), getattr(first, what)
            if here != there:
                how = "; ".join(here.differences(there)) if isinstance(here, Machine) else f"{there} -> {here}"
                raise InputError(f"{folder}: {first.bench} and {result.bench} differ in {what} ({how}); {AGAIN}")
    return Accepted(
        level=first.level,
        commit=first.commit,
        date=max(result.date for result in results),
        machine=first.machine,
        benches={
            result.bench: AcceptedBench(
                seconds=result.seconds,
                load=result.load,
                busy=result.busy,
                ratios={ratio.name: ratio.value for ratio in result.ratios},
            )
            for result in results
        },
    )


def _whole(folder: Path, name: str) -> Result:
    result = read_result(folder, name)
    if result is None:
        raise InputError(f"{folder}: no result of bench '{name}'; {AGAIN}")
    if result.error is not None:
        raise InputError(f"{folder}: bench '{name}' failed ({result.error}); {AGAIN}")
    return result
