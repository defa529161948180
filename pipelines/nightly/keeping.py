"""What a night leaves behind: its record, scores, verdicts in every form, a report, its MLflow runs."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from eval.gate import GateResult
from operators import InputError
from pipelines.nightly.folder import NightlyFolder
from pipelines.nightly.mirror import run_of
from pipelines.nightly.night import Night
from pipelines.nightly.night_text import markdown, verdict_json
from pipelines.nightly.nightly_spec import NightlySpec
from pipelines.nightly.section import nightly_section
from pipelines.report import render_sweep
from pipelines.track import track
from pipelines.track.server import without_credentials

Result = TypeVar("Result")


def keep_night(spec: NightlySpec, night: Night, spec_path: str) -> tuple[Night, dict[str, str], list[str]]:
    """The night as remembered, where its files are, and warnings: nothing here changes the verdict.

    The verdict is written first: a page or an MLflow server that fails must not cost it. Of an accepted night nothing
    is written.
    """
    folder, name, warnings = NightlyFolder(spec.output, spec.name), night.record.night, list[str]()
    if night.sweep is None:
        kept = ("junit.xml", "summary.md", "verdict.json")
        return night, {file: folder.store.url(folder.file(name, file)) for file in kept}, warnings
    sweep = night.sweep
    contents = {"junit.xml": junit(night), "summary.md": markdown(night, spec_path)}
    files = {file: folder.write(name, file, text.encode()) for file, text in contents.items()}
    files["verdict.json"] = folder.store.url(folder.file(name, "verdict.json"))
    _write_verdict(folder, night, files)
    folder.write_night(night.record, sweep.scores.table)

    page = _tried(warnings, "no report", lambda: render_sweep(sweep, [nightly_section(night)]))
    if page is not None:
        where = _tried(warnings, "the report was not written", lambda: folder.write(name, "report.html", page))
        files |= {"report.html": where} if where else {}
    if sweep.spec.tracking.enabled:
        run = _tried(warnings, "not logged", lambda: run_of(track(sweep, page)))
        night = replace(night, record=night.record.model_copy(update={"run": run or night.record.run}))
    _tried(warnings, "report and run are not in the record", lambda: _write_again(folder, night, files))
    _tried(warnings, "old nights were not deleted", lambda: folder.prune(spec.keep_nights))
    return night, files, warnings


def junit(night: Night) -> str:
    """A case for completeness, and with a baseline one per cell and metric."""
    name, checks = f"g2d2 nightly {night.record.name}", {"completeness": night.lacking()}
    return (night.gate or GateResult(())).to_junit(name, checks)


def _write_verdict(folder: NightlyFolder, night: Night, files: dict[str, str]) -> None:
    folder.write(night.record.night, "verdict.json", verdict_json(night, files).encode())


def _write_again(folder: NightlyFolder, night: Night, files: dict[str, str]) -> None:
    _write_verdict(folder, night, files)
    folder.write_record(night.record)


def _tried(warnings: list[str], lost: str, work: Callable[[], Result]) -> Result | None:
    """The result of what a night can do without; whatever is raised becomes a warning."""
    try:
        return work()
    except Exception as error:
        said = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        warnings.append(f"{lost}: {without_credentials(' '.join(said.split()))}")
        return None
