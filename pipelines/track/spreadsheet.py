"""Tables as CSV that a spreadsheet opens as words and numbers, never as formulas."""

import csv
import io
from collections.abc import Iterable, Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""


def csv_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """UTF-8; a word that would be a formula begins with an apostrophe, which spreadsheets read as: this is text."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows([_as_text(entry) for entry in row] for row in rows)
    return text.getvalue().encode()


def _as_text(entry: object) -> object:
    if not isinstance(entry, str) or not entry.startswith(_FORMULA) or _is_number(entry):
        return entry
    return f"'{entry}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
