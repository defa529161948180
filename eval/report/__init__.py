"""Reports: the record of a sweep in, one self-contained HTML page and figures for papers out.

A page takes sections of the caller's own: `Section(title, html)` with `html` from `table`, `line_chart` and
`paragraph`, handed over as `extra_sections` to `render_page` or `pipelines.report.render_report`.
"""

from eval.report.content import Facts, Failure, PictureRow, Pictures, Report, TaskFacts, TraceCurves
from eval.report.page import render_page
from eval.report.sections import Section, Series, line_chart, paragraph, table

__all__ = [
    "Facts",
    "Failure",
    "PictureRow",
    "Pictures",
    "Report",
    "Section",
    "Series",
    "TaskFacts",
    "TraceCurves",
    "line_chart",
    "paragraph",
    "render_page",
    "table",
]
