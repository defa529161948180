"""The one table printer: columns of text, as wide as their widest entry, numbers flush right."""

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"(< )?[+-]?\d[\d.,e+-]*( ?%|s| \[.*\]| \(.*\))?")
_NOTHING = ("", "-")


def text_table(rows: Sequence[Sequence[str]], header: Sequence[str] = ()) -> str:
    """Lines without trailing blanks; nothing where there are no rows and no header."""
    lines = [*([header] if header else []), *rows]
    if not lines:
        return ""
    columns = list(zip(*lines, strict=True))
    shapes = [(max(map(len, column)), _numeric(column[1:] if header else column)) for column in columns]
    return "\n".join(
        "  ".join(
            entry.rjust(width) if number else entry.ljust(width)
            for entry, (width, number) in zip(line, shapes, strict=True)
        ).rstrip()
        for line in lines
    )


def _numeric(column: Sequence[str]) -> bool:
    entries = [entry for entry in column if entry not in _NOTHING]
    return bool(entries) and all(_NUMBER.fullmatch(entry) for entry in entries)
