"""Pictures in a notebook: figures side by side, each with its caption, whole in one piece of HTML."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

_ROW = "display:flex;flex-wrap:wrap;gap:8px;align-items:flex-start"
_PICTURE = "min-height:128px;max-width:100%;image-rendering:pixelated;display:block"
_FIGURE, _CAPTION = "margin:0", "font-size:12px;line-height:1.35;max-width:16em"


@dataclass(frozen=True)
class Figure:
    """A picture and what stands below it."""

    png: bytes
    lines: Sequence[str] = ()


def figures_html(figures: Sequence[Figure]) -> Markup:
    """One row of pictures, small ones enlarged without smoothing; all text is escaped."""
    return Markup('<div style="{}">{}</div>').format(_ROW, Markup("").join(map(_figure, figures)))


def _figure(one: Figure) -> Markup:
    caption = Markup("<br>").join(map(escape, one.lines))
    return Markup(
        '<figure style="{}"><img style="{}" src="data:image/png;base64,{}" alt="{}">'
        '<figcaption style="{}">{}</figcaption></figure>'
    ).format(_FIGURE, _PICTURE, b64encode(one.png).decode(), one.lines[0] if one.lines else "", _CAPTION, caption)
