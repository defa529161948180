"""Pictures from a CSV of paths and captions."""

import csv
import io
import posixpath
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from operators import InputError
from pipelines.manifest.columns import Roles, as_text, find_roles
from pipelines.manifest.picture import Picture, Source, printable, read_file, refuse
from pipelines.manifest.schema import LONGEST_ID, safe_id
from pipelines.manifest.settings import BuildSettings
from pipelines.storage import Store, open_store

LONGEST_FIELD = 131072
"""Characters; a longer one is an unclosed quote rather than a caption."""

_SHOWN = 40


@dataclass(frozen=True)
class Line:
    """One row of a CSV file."""

    values: list[str]
    problem: str | None = None
    """Why it cannot be used, as the end of a sentence."""


def csv_source(store: Store, name: str, settings: BuildSettings) -> Source:
    """Rows of a CSV file with a header; its pictures' paths are relative to it."""
    # bytes that are not UTF-8 become lone surrogates here, and are refused where they stand
    text = store.read_bytes(name).decode("utf-8-sig", "surrogateescape")
    with _wide_fields():
        head, *rows = list(_lines(text)) or [Line([])]
    if head.problem:
        raise InputError(f"source: {store.url(name)} cannot be read as a CSV in UTF-8: in its header {head.problem}.")
    header = [column.strip() for column in head.values]
    roles, columns = find_roles(settings, header, "image_path")
    return Source(len(rows), columns, _pictures(store, header, rows, roles))


def _lines(text: str) -> Iterator[Line]:
    """The lines that are not empty; one that is malformed costs no other."""
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True)
    while True:
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Line([], f"a field is malformed near line {reader.line_num} ({error})")
            continue
        if values:
            yield Line(values, next(filter(None, map(_field_problem, values)), None))


def _field_problem(field: str) -> str | None:
    if len(field) > LONGEST_FIELD:
        return f"a field has {len(field)} characters and may have {LONGEST_FIELD}"
    try:
        field.encode()
    except UnicodeEncodeError:
        return f"{printable(field)[:_SHOWN]!r} is not UTF-8"
    return None


@contextmanager
def _wide_fields() -> Iterator[None]:
    """Python's reader gives up a whole file at one long field, by a limit that all readers share."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _pictures(store: Store, header: list[str], rows: list[Line], roles: Roles) -> Iterator[Picture]:
    whole, base = _root(store.url())
    for number, line in enumerate(rows, start=1):
        row = dict(zip(header, line.values + [""] * len(header), strict=False))
        path = row[roles.image].strip()
        name = printable(path)[:LONGEST_ID] or f"row {number}"
        given = as_text(row[roles.id]) if roles.id else posixpath.splitext(path)[0]
        if line.problem:
            # the id may be what is wrong, and must not be the reason then
            given, read = f"row {number}", partial(refuse, f"image {name}: in its row {number}, {line.problem}.")
        elif len(line.values) != len(header):
            read = partial(refuse, f"image {name}: its row has {len(line.values)} fields and the header {len(header)}; "
                           "quote text that holds commas.")  # fmt: skip
        elif not path:
            read = partial(refuse, f"image {name}: its path is empty.")
        else:
            place = posixpath.normpath(posixpath.join(base, path))
            read = partial(read_file, whole, place.lstrip("/"))
        yield Picture(safe_id(given or ""), name, roles.fields(row), read)


def _root(url: str) -> tuple[Store, str]:
    """The widest store around a URL, so that paths may lead out of the CSV's folder, and the way from there."""
    if not url.startswith("s3://"):
        return open_store("/"), url
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    return open_store(f"s3://{bucket}"), prefix
