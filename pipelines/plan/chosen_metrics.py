"""The metrics of a sweep: those its specification names, or what suits the signal of its measurements."""

from eval.metrics import default_metrics
from operators.validation import validate
from pipelines.manifest import Manifest
from pipelines.plan.selected_rows import selected
from pipelines.plan.sweep_spec import SweepSpec


def chosen_metrics(spec: SweepSpec, manifest: Manifest | None = None) -> list[str]:
    """The names; the manifest is opened only where the specification has none."""
    if spec.metrics is not None:
        return spec.metrics
    manifest = manifest or Manifest.open(spec.manifest)
    rows = selected(manifest.index(("task", "signal")), spec.select, spec.select.tasks or manifest.tasks)
    first = next(rows, None)
    return default_metrics("image" if first is None else first["signal"][0].as_py())


def with_metrics(spec: SweepSpec) -> SweepSpec:
    """The specification with its metrics named; refused where it races by others."""
    if spec.metrics is not None:
        return spec
    named = {"metrics": chosen_metrics(spec)}
    if spec.race is None:
        return spec.model_copy(update=named)
    whole: SweepSpec = validate(SweepSpec, spec.model_dump(mode="json") | named, where="specification")
    return whole
