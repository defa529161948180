"""Reports: scored tables in, one self-contained HTML page, figures and tables for papers out.

A page takes sections of the caller's own: `Section(title, html)` with `html` from `table`, `line_chart` and
`paragraph`, handed over as `extra_sections` to `render_page` or `pipelines.reporting.render_report`.
"""

from eval.report.content import Facts, Failure, PictureRow, Pictures, Report, TaskFacts, TraceCurves
from eval.report.page import render_page
from eval.report.results import CellResult, Results
from eval.report.sections import Section, Series, line_chart, paragraph, table

__all__ = [
    "CellResult",
    "Facts",
    "Failure",
    "PictureRow",
    "Pictures",
    "Report",
    "Results",
    "Section",
    "Series",
    "TaskFacts",
    "TraceCurves",
    "line_chart",
    "paragraph",
    "render_page",
    "table",
]
