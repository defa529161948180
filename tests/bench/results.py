"""Results that nobody measured."""

from bench.result import Machine, Measured, Result

MACHINE = Machine(cores=2, processor="one", memory_gib=24, python="3.11.1", torch="2.13.0", threads=2)


def ratio(name="times faster", value=5.0, goal=6.0, better="higher", unit="times"):
    met = None if value is None else (value >= goal if better == "higher" else value <= goal)
    return Measured(name=name, value=value, goal=goal, better=better, unit=unit, met=met)


def result(bench="solver", *ratios, threads=2, error=None, **changes):
    facts = {
        "level": "normal", "commit": "abc", "date": "2026-11-18", "seconds": 60.0, "load": (0.1, 1.5), "busy": 0.02,
        "machine": MACHINE.model_copy(update={"threads": threads}), "error": error,
    }  # fmt: skip
    measured = {} if error is not None else {"rows": [{"n": 1}], "ratios": list(ratios or [ratio()])}
    return Result(bench=bench, **facts | measured | changes)
