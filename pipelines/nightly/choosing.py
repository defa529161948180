"""Which night a command works on: one that goes on under the same conditions, or a new one; never another's."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count

from operators import InputError
from pipelines.nightly.conditions import night_conditions, what_differs
from pipelines.nightly.folder import NightlyFolder
from pipelines.nightly.nightly_spec import NightlySpec
from pipelines.nightly.records import BaselineRecord, Conditions


@dataclass(frozen=True)
class Chosen:
    """A night to run, to go on with or to judge again."""

    night: str
    conditions: Conditions
    acceptance: BaselineRecord | None = None
    """Where the night is accepted, and so can only be judged."""
    notice: str | None = None
    """Why it is not the night that the day would give."""


def choose_night(
    spec: NightlySpec, day: str, *, named: bool = False, new: bool = False, retry_failed: bool = False
) -> Chosen:
    """The day's night, the next free number where that one is of another specification or `new` asks for one.

    A night that is `named`, or whose failed rows are to be solved again, is that one or refused.
    """
    folder, sweep = NightlyFolder(spec.output, spec.name), spec.sweep_spec(day)
    _refuse_other_names(spec, folder)
    conditions, acceptances = night_conditions(sweep), folder.acceptances()

    def obstacle(night: str) -> str | None:
        return _obstacle(folder, night, conditions, accepted=night in acceptances)

    if new:
        night = next(name for name in _names(day) if not folder.finished(name) and obstacle(name) is None)
        return Chosen(night, conditions)
    why_not = obstacle(day)
    night = next(name for name in _names(day) if obstacle(name) is None)
    if why_not is not None and (named or (retry_failed and not folder.finished(night))):
        raise InputError(f"night {day}: {why_not}, and stays as it is; --new evaluates once more, as {night} or later.")
    if retry_failed and night in acceptances:
        raise InputError(
            f"--retry-failed: night {night} is accepted as baseline {acceptances[night].number} and stays as it is; "
            "--new evaluates once more."
        )
    notice = None if why_not is None else f"night {day}: {why_not}, and stays as it is; this is night {night}"
    return Chosen(night, conditions, acceptances.get(night), notice)


def _names(day: str) -> Iterator[str]:
    return chain([day], (f"{day}.{number}" for number in count(2)))


def _obstacle(folder: NightlyFolder, night: str, conditions: Conditions, accepted: bool) -> str | None:
    """Why a night that was begun cannot go on under these conditions; None where it can, or was not begun."""
    begun = folder.conditions(night)
    if begun is None:
        begun_before = folder.finished(night) or folder.holds_sweep(night)
        return "an earlier version ran it and did not keep its specification" if begun_before else None
    if (changes := what_differs(begun, conditions)) is not None:
        return f"it was begun with another specification ({changes})"
    if folder.finished(night) and not accepted and not folder.holds_sweep(night):
        return "its reconstructions are deleted (keep_nights)"
    return None


def _refuse_other_names(spec: NightlySpec, folder: NightlyFolder) -> None:
    others = sorted({record.name for record in folder.nights()} - {spec.name})
    if others:
        raise InputError(
            f"output {spec.output}: it holds nights of {', '.join(others)}; give {spec.name} an output of its own."
        )
