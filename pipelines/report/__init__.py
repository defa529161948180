"""Report: a sweep's committed Parquet as one HTML page, figures and tables, for a path or an `s3://` URL."""

from collections.abc import Sequence

from eval.report import Section, render_page
from pipelines.report.race_section import race_sections
from pipelines.report.search_section import search_sections
from pipelines.report.sweep_report import read_report
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage.sweep_folder import SweepFolder

__all__ = ["PAGE", "own_sections", "read_report", "render_report", "render_sweep"]

PAGE = "report/index.html"
"""Where the page lies in a sweep's folder."""


def render_report(
    folder: SweepFolder | str,
    *,
    extra_sections: Sequence[Section] = (),
    cells: Sequence[str] = (),
    metrics: Sequence[str] | None = None,
) -> bytes:
    """The page of a sweep's folder as UTF-8 HTML without any network.

    `extra_sections` are shown after the sweep's own; build them with `eval.report`'s `Section`, `table`, `line_chart`
    and `paragraph`. `cells` are ids of cells whose pictures are shown besides the best, `metrics` those to show alone.
    """
    sweep = StoredSweep.read(SweepFolder(folder) if isinstance(folder, str) else folder)
    return render_sweep(sweep if metrics is None else sweep.only(metrics), extra_sections, cells)


def render_sweep(
    sweep: StoredSweep, extra_sections: Sequence[Section] = (), cells: Sequence[str] = (), home: str = ""
) -> bytes:
    """The page of a sweep that is read already; `home` is a relative link to a page that lists it."""
    return render_page(read_report(sweep, cells), [*own_sections(sweep), *extra_sections], home)


def own_sections(sweep: StoredSweep) -> list[Section]:
    """What a search and a race add to a page; none where the sweep is neither."""
    return [*search_sections(sweep), *race_sections(sweep)]
