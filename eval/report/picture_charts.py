"""Pictures in rows and columns for papers: reconstructions side by side, and snapshots over t."""

import io
from collections.abc import Sequence
from typing import Any

from PIL import Image

from eval.record.numbers import shown
from eval.report.chart_style import Spec, field, finished, mark, quoted
from eval.report.content import PictureRow, Report, TraceCurves
from eval.report.thumbnails import data_uri

SIDE = 96
"""Pixels of a picture before it is enlarged for print."""


def pictures(report: Report, rows: Sequence[PictureRow]) -> Spec:
    """Truth, measurement and reconstructions, one measurement per line."""
    tiles = []
    for row in rows:
        for column in ("truth", "y", *row.values):
            own = column not in ("truth", "y")
            value = row.values.get(column)
            tiles.append(
                {
                    "line": f"{row.kind} · {row.measurement}",
                    "column": report.record.cell(column).marked if own else column,
                    "url": _url(report, f"{column}/{row.measurement}" + (f"/{row.seed}" if own else "")),
                    "text": shown(value) if value is not None else "",
                }
            )
    return _sheet(tiles, f"{rows[0].task}: {rows[0].metric} below each picture")


def snapshots(report: Report, curves: Sequence[TraceCurves]) -> Spec:
    """What methods kept while solving, one cell per line, as t falls; at the right what it is held against."""
    tiles = []
    for one in curves:
        here = [(f"t = {level}", key) for level, key in one.snapshots]
        here += one.beside
        here += [(name, f"{name}/{one.measurement}") for name in ("y", "truth")]
        tiles += [
            {"line": report.record.cell(one.cell).label, "column": name, "url": _url(report, key), "text": ""}
            for name, key in here
            if key in report.pictures.images
        ]
    return _sheet(tiles, f"{curves[0].measurement} while it is solved")


def _sheet(tiles: list[dict[str, Any]], caption: str) -> Spec:
    names = {name: list(dict.fromkeys(tile[name] for tile in tiles)) for name in ("line", "column")}
    axis = {"domain": False, "ticks": False, "labelLimit": 160, "labelExpr": "split(datum.label, regexp(', | · '))"}
    whole = axis | {"labelLimit": 0}  # a measurement is found again by all of its name
    texts = any(tile["text"] for tile in tiles)
    lines = max(1 + name.count(", ") for name in names["column"])
    above = axis | {"orient": "top", "labelAngle": 0, "labelPadding": 4 + 14 * (lines - 1)}
    place = {
        "x": field("column", "ordinal", sort=names["column"], title=None, axis=above),
        "y": field("line", "ordinal", sort=names["line"], title=None, axis=whole),
    }
    sheet: Spec = {
        "data": {"values": tiles},
        "layer": [
            mark("image", place | {"url": field("url", "nominal")}, width=SIDE - 6, height=SIDE - 6, name="rows"),
            mark("text", place | {"text": field("text", "nominal")}, dy=SIDE // 2 + 4, fontSize=10),
        ],
        "width": {"step": SIDE},
        "height": {"step": SIDE + 14 * texts},
    }
    return finished(sheet, quoted(caption))


def _url(report: Report, key: str) -> str | None:
    """As PNG with sharp pixels: a small picture is enlarged by whole factors."""
    content = report.pictures.images.get(key)
    if content is None:
        return None
    with Image.open(io.BytesIO(content)) as picture:
        plain = picture.convert("RGB")
    factor = max(1, 2 * SIDE // max(plain.size))
    buffer = io.BytesIO()
    plain.resize((plain.width * factor, plain.height * factor), Image.Resampling.NEAREST).save(buffer, format="PNG")
    return data_uri(buffer.getvalue())
