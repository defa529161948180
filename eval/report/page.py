"""One HTML file that needs no network: style, program, values and pictures are all inside."""

import base64
import re
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files

from eval.report.charts import chart_values, embedded
from eval.report.content import Report
from eval.report.findings import best_cells, best_duels, grid_duels
from eval.report.parts import Part, last_parts, parts
from eval.report.sections import Section
from eval.report.summary import headline, status_pill, summary_html
from g2d2.version import __version__

_PROGRAM = ("draw.js", "lines.js", "grid.js", "points.js", "pictures.js", "traces.js", "page.js")


def render_page(report: Report, extra_sections: Sequence[Section] = ()) -> bytes:
    """The page as UTF-8; `extra_sections` stand between the sweep's own results and the paper's."""
    results, facts = report.results, report.facts
    best, duels = best_cells(results), best_duels(results)
    extra = [Part(f"more-{number}", one.title, one.title, one.html) for number, one in enumerate(extra_sections, 1)]
    below = [*parts(report, best, duels, grid_duels(results)), *extra, *last_parts(report)]
    script = f'(() => {{ "use strict";\n{"".join(asset(name) for name in _PROGRAM)}}})();'
    values = {
        "title": escape(f"{facts.name}: {headline(duels)}"),
        "name": escape(facts.name),
        "status": status_pill(facts),
        "navigation": "".join(f'<a href="#{part.anchor}">{escape(part.short)}</a>' for part in below),
        "sections": f'<section id="summary">{summary_html(report, best, duels)}</section>'
        + "".join(_section(part) for part in below),
        "footer": escape(f"Made by g2d2 {__version__} from {facts.where}."),
        "style": asset("report.css"),
        "script": script,
        "script_hash": base64.b64encode(sha256(script.encode()).digest()).decode(),
        "data": embedded(chart_values(report, duels)),
    }
    # in one pass, so that a placeholder inside the data stays what it is
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], asset("template.html")).encode()


def asset(name: str) -> str:
    """A file of this package that goes into the page."""
    return files("eval.report").joinpath("assets", name).read_text(encoding="utf-8")


def _section(part: Part) -> str:
    heading = f"{part.anchor}-title"
    return (
        f'<section id="{part.anchor}" aria-labelledby="{heading}"><h2 id="{heading}">{escape(part.title)}</h2>'
        f"{part.html}</section>"
    )
