"""Tables as text: columns as wide as they need to be, numbers to three digits."""

from collections.abc import Collection, Mapping, Sequence


def text_table(rows: Sequence[Mapping[str, object]], left: Collection[str] = ()) -> str:
    """A header and one line per row, each with the columns that any has; they are set right, but those in `left`."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = [columns, *([cell(row.get(name)) for name in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    sides = ["<" if name in left else ">" for name in columns]
    return "\n".join(
        "  ".join(f"{text:{side}{width}}" for text, side, width in zip(line, sides, widths, strict=True)).rstrip()
        for line in cells
    )


def cell(value: object) -> str:
    if value is None:
        return "-"
    return number(value) if isinstance(value, float) else str(value)


def number(value: float) -> str:
    """Three digits, and large numbers without an exponent."""
    return f"{value:.0f}" if 1000 <= abs(value) < 1e9 else f"{value:#.3g}".rstrip(".")
