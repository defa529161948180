"""Whose an output is: one sweep's, unless it and the others say that they share it."""

from operators import InputError
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.storage.sweep_folder import SUMMARY, TOP, SweepFolder

_EXPECTED = (*TOP, ".", "lost+found/")
"""How names begin that may lie there: what sweeps write, and what file systems and their browsers put everywhere."""


def refuse_others(spec: SweepSpec, folder: SweepFolder) -> None:
    """An InputError where the output holds another sweep, or files that no sweep writes."""
    if folder.store.exists(SUMMARY):
        _refuse_other_sweep(spec, folder)
        return
    others = [name for name in folder.store.top() if not name.startswith(_EXPECTED)]
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise InputError(
            f"output {spec.output}: it holds {others[0]}{more}, which no sweep writes; give sweep {spec.name!r} a new "
            f"or empty folder, such as {spec.output.rstrip('/')}/{spec.name}."
        )


def _refuse_other_sweep(spec: SweepSpec, folder: SweepFolder) -> None:
    before = folder.read_summary()["specification"]
    if before["name"] != spec.name and not (spec.shared and before.get("shared") is True):
        raise InputError(
            f"output {spec.output}: it holds sweep {before['name']!r}, and this one is {spec.name!r}; give it an "
            f"output of its own, or name it {before['name']!r} to go on with that one (where both are to share what "
            "they solve, both must say `shared: true`)."
        )
