"""What a night leaves behind: its record, scores, verdicts in every form, a report, its MLflow runs."""

from dataclasses import replace

from eval.gate import GateResult
from operators import InputError
from pipelines.nightly.folder import NightlyFolder
from pipelines.nightly.mirror import run_of
from pipelines.nightly.night import Night
from pipelines.nightly.section import nightly_section
from pipelines.nightly.spec import NightlySpec
from pipelines.nightly.telling import markdown, verdict_json
from pipelines.reporting import render_report
from pipelines.tracking import track


def keep_night(spec: NightlySpec, night: Night, spec_path: str) -> tuple[Night, dict[str, str], list[str]]:
    """The night as remembered, where its files are, and warnings: nothing here changes the verdict."""
    folder, name, warnings = NightlyFolder(spec.output, spec.name), night.record.night, []
    sweep = spec.sweep_spec(name)
    if sweep.tracking.enabled:
        try:
            run = run_of(track(night.sweep, sweep))
            night = replace(night, record=night.record.model_copy(update={"run": run}))
        except InputError as error:
            warnings.append(f"not logged: {error}")
    contents = {"junit.xml": junit(night).encode(), "summary.md": markdown(night, spec_path).encode()}
    try:
        contents["report.html"] = render_report(night.sweep.folder, extra_sections=[nightly_section(night)])
    except InputError as error:
        warnings.append(f"no report: {error}")
    files = {file: folder.write(name, file, content) for file, content in contents.items()}
    files["verdict.json"] = folder.store.url(folder.file(name, "verdict.json"))
    folder.write(name, "verdict.json", verdict_json(night, files).encode())
    folder.write_night(night.record, night.sweep.scores.table)
    folder.prune(spec.keep_nights)
    return night, files, warnings


def junit(night: Night) -> str:
    """A case per cell and metric; none without a baseline."""
    return (night.gate or GateResult(())).to_junit(f"g2d2 nightly {night.record.name}")
