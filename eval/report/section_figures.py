"""Charts of a caller's own sections, such as a race's, as figures for papers: they lie in the sections' markup."""

import html
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from eval.report.chart_style import ARMS, Spec
from eval.report.figure_files import titled
from eval.report.sections import Section

_CHART = re.compile(r'data-chart="([^"]*)"')
_ARM = "arm:"
"""What a colour begins with that depends on the arms of the page."""


def section_figures(sections: Sequence[Section], arms: Sequence[str]) -> Iterator[tuple[str, Spec]]:
    """Names and figures of all charts of these sections, in the colours that the arms have on the page."""
    for section in sections:
        for number, text in enumerate(_CHART.findall(section.html), 1):
            yield f"{section.title.lower()}-{number}", titled(_coloured(json.loads(html.unescape(text)), arms))


def _coloured(value: Any, arms: Sequence[str]) -> Any:
    if isinstance(value, dict):
        return {name: _coloured(one, arms) for name, one in value.items()}
    if isinstance(value, list):
        return [_coloured(one, arms) for one in value]
    if not isinstance(value, str) or not value.startswith(f"{_ARM}["):
        return value
    arm, name, other = json.loads(value.removeprefix(_ARM))
    known = [one for one in (arm, name) if one in arms and len(arms) > 1]
    return ARMS[list(arms).index(known[0]) % len(ARMS)] if known else other
