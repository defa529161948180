"""One HTML file that needs no network: style, program, values and pictures are all inside."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from eval.report.page_values import embedded
from eval.report.templating import templates
from eval.report.vega_runtime import runtime
from g2d2.version import __version__

_PROGRAM = ("elements.js", "charts.js", "controls.js", "pictures.js", "explorer.js", "page.js")

_NAME = b'<p class="sweep">'
"""What the name of a page begins with."""


@dataclass(frozen=True)
class Part:
    """A section with the anchor and the short title that the navigation shows."""

    anchor: str
    short: str
    title: str
    html: str
    heading: int = 2
    alarm: str = ""
    """Follows the title where something is wrong with what it says."""


@dataclass(frozen=True)
class Document:
    """What a page says; the first part is where `Skip to the summary` leads."""

    name: str
    headline: str
    state: tuple[str, str]
    """`good`, `warn` or `bad`, and in words."""

    parts: Sequence[Part]
    source: str
    """What it was made from."""

    values: dict[str, Any]
    """What its program reads."""

    home: str = ""
    """A relative link to the page that lists this one; none where it is empty."""


def render_document(document: Document) -> bytes:
    """The page as UTF-8."""
    program = f'(() => {{ "use strict";\n{"".join(asset(name) for name in _PROGRAM)}}})();'
    page = templates().get_template("page.html")
    return page.render(
        document=document,
        home=_home(document.home),
        version=__version__,
        style=Markup(asset("report.css")),
        scripts=[Markup(runtime()), Markup(program)],
        data=Markup(embedded(document.values)),
    ).encode()


def with_home(page: bytes, home: str) -> bytes:
    """A page that was rendered without a link to the one that lists it, with that link; other HTML as it is."""
    return page.replace(_NAME, _NAME + _home(home).encode(), 1)


def _home(home: str) -> Markup:
    return Markup('<a href="{}">All sweeps</a> / ').format(home) if home else Markup("")


def asset(name: str) -> str:
    """A file of this package that goes into the page."""
    return files("eval.report").joinpath("assets", name).read_text(encoding="utf-8")
