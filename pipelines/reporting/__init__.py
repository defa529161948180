"""Report: a sweep's committed Parquet as one HTML page, figures and tables, for a path or an `s3://` URL."""

from collections.abc import Sequence

from eval.report import Section, render_page
from pipelines.layout import SweepFolder
from pipelines.reporting.reading import read_report

__all__ = ["PAGE", "read_report", "render_report"]

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
    opened = SweepFolder(folder) if isinstance(folder, str) else folder
    return render_page(read_report(opened, cells, metrics), extra_sections)
