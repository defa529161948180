"""The paper's figures from sweeps that kept traces: losses, re-masked tokens, the prior's guesses over t, pictures."""

from collections.abc import Iterable

from eval.report.figures import figures, written
from operators import InputError
from pipelines.layout import SweepFolder
from pipelines.reporting import read_report
from pipelines.spec import SweepSpec
from pipelines.storage import open_store
from pipelines.sweep import run_sweep

SHOWN = ("traces-", "prior-samples-", "pictures-")
"""Figures of a report that the paper has too, by the beginning of their names."""


def draw_figures(specs: Iterable[SweepSpec], folder: str) -> tuple[list[str], int]:
    """Run or resume each sweep and write its figures as PNG and PDF; their URLs, and how many rows failed."""
    store, urls, failed = open_store(folder), [], 0
    for spec in specs:
        counts = run_sweep(spec).counts
        if not counts.complete:
            raise InputError(f"sweep {spec.name}: not everything is committed; the same command goes on.")
        failed += counts.failed
        for name, figure in figures(read_report(SweepFolder(spec.output))):
            for kind in ("png", "pdf") if name.startswith(SHOWN) else ():
                store.write_bytes(f"{spec.name}/{name}.{kind}", written(figure, kind))
                urls.append(store.url(f"{spec.name}/{name}.{kind}"))
    return urls, failed
