"""Pictures from a CSV of paths and captions."""

import csv
import io
import posixpath
from collections.abc import Iterator
from functools import partial

from operators import InputError
from pipelines.manifest.columns import Roles, as_text, find_roles
from pipelines.manifest.picture import Picture, Source, read_file
from pipelines.manifest.schema import safe_id
from pipelines.manifest.settings import BuildSettings
from pipelines.storage import Store, open_store


def csv_source(store: Store, name: str, settings: BuildSettings) -> Source:
    """Rows of a CSV file with a header; its pictures' paths are relative to it."""
    try:
        lines = _lines(store.read_bytes(name).decode("utf-8-sig"))
        header = [column.strip() for column in next(lines, [])]
        rows = [line for line in lines if line]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"source: {store.url(name)} cannot be read as a CSV in UTF-8 ({error}).") from None
    roles, columns = find_roles(settings, header, "image_path")
    return Source(len(rows), columns, _pictures(store, header, rows, roles))


def _lines(text: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True)


def _pictures(store: Store, header: list[str], rows: list[list[str]], roles: Roles) -> Iterator[Picture]:
    whole, base = _root(store.url())
    for number, values in enumerate(rows, start=1):
        row = dict(zip(header, values + [""] * len(header), strict=False))
        path = row[roles.image].strip()
        name = path or f"row {number}"
        given = as_text(row[roles.id]) if roles.id else posixpath.splitext(path)[0]
        if len(values) != len(header):
            read = partial(_refuse, f"image {name}: its row has {len(values)} fields and the header {len(header)}; "
                           "quote text that holds commas.")  # fmt: skip
        elif not path:
            read = partial(_refuse, f"image {name}: its path is empty.")
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


def _refuse(reason: str) -> bytes:
    raise InputError(reason)
