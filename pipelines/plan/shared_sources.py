"""Measurements of a race that are not independent draws: windows of one clip, one drawn path with several prompts."""

import re
from collections import defaultdict
from collections.abc import Iterator

from operators.plurals import counted
from pipelines.manifest import Manifest
from pipelines.plan.selected_rows import selected
from pipelines.plan.sweep_spec import SweepSpec

_WINDOW = re.compile(r"(.+)@\d+")
_PROMPTED = re.compile(r"(.+)/\d{2,}")


def shared_sources(spec: SweepSpec) -> Iterator[str]:
    """A warning for every task in which fewer clips or drawn paths were measured than there are measurements."""
    manifest = Manifest.open(spec.manifest)
    sources: dict[str, list[str]] = defaultdict(list)
    tasks = spec.select.tasks or manifest.tasks
    for batch in selected(manifest.index(["task", "source", "signal"]), spec.select, tasks):
        for row in batch.to_pylist():
            if row["signal"] == "motion":
                sources[row["task"]].append(row["source"])
    for task, names in sources.items():
        without_truth, rows = manifest.truthless(task)
        drawn = without_truth == rows
        pattern = _PROMPTED if drawn else _WINDOW
        origins = {match[1] if (match := pattern.fullmatch(name)) else name for name in names}
        if len(origins) < len(names):
            yield (
                f"{task}: its {counted(len(names), 'measurement')} are of "
                f"{counted(len(origins), 'drawn path' if drawn else 'clip')}; a race takes them as independent draws, "
                "so what alpha promises is about more of the same ones, and not about others"
            )
