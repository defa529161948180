"""The paper's figures from sweeps that kept traces: curves, snapshots over t, pictures."""

from collections.abc import Iterable

from eval.report.figure_files import figures, written
from operators import InputError
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.report import read_report
from pipelines.storage import open_store
from pipelines.sweep import run_sweep

SHOWN = ("traces-", "snapshots-", "pictures-")
"""Figures of a report that the paper has too, by the beginning of their names."""


def draw_figures(specs: Iterable[SweepSpec], folder: str) -> tuple[list[str], int]:
    """Run or resume each sweep and write its figures as PNG and PDF; their URLs, and how many rows failed."""
    store, urls, failed = open_store(folder), [], 0
    for spec in specs:
        result = run_sweep(spec)
        if not result.counts.complete:
            raise InputError(f"sweep {spec.name}: not everything is committed; the same command goes on.")
        failed += result.counts.failed
        for name, figure in figures(read_report(result.stored(spec))):
            kinds = ("png", "pdf") if name.startswith(SHOWN) else ()
            for kind, content in zip(kinds, written(figure, *kinds) if kinds else (), strict=True):
                store.write_bytes(f"{spec.name}/{name}.{kind}", content)
                urls.append(store.url(f"{spec.name}/{name}.{kind}"))
    return urls, failed
