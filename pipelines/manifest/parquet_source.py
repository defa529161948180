"""Pictures from Parquet: encoded images in a column, as data sets on the Hugging Face hub have them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from operators import InputError
from pipelines.manifest.columns import Roles, as_text, find_roles
from pipelines.manifest.picture import Picture, Source, refuse
from pipelines.manifest.schema import safe_id
from pipelines.manifest.settings import BuildSettings
from pipelines.storage import ParquetReader, Store

_ROWS_AT_ONCE = 16
"""Encoded pictures may be megabytes each."""

_READ_BUFFER = 2**20


def parquet_source(store: Store, names: Sequence[str], settings: BuildSettings) -> Source:
    """Rows of Parquet files in the order of their names; pictures are bytes, or structs with a field `bytes`."""
    open_file = partial(open_parquet, store, store.filesystem)
    roles, columns = find_roles(settings, open_file(names[0]).schema.names, "image")
    count = sum(open_file(name).metadata.num_rows for name in names)
    return Source(count, columns, _parquet_pictures(store, open_file, names, roles))


def _parquet_pictures(
    store: Store, open_file: Callable[[str], ParquetReader], names: Sequence[str], roles: Roles
) -> Iterator[Picture]:
    number = 0
    for name in names:
        file = open_file(name)
        read_image = _image_reader(store, name, file.schema, roles)
        texts = [column for column in roles.columns if column != roles.image]
        try:
            for batch in file.batches(roles.columns, _ROWS_AT_ONCE):
                for index in range(batch.num_rows):
                    row, broken = _text(batch, index, texts)
                    given = f"{number:08d}" if roles.id is None else as_text(row[roles.id])
                    known = given or f"row {number}"
                    if broken is None:
                        read = partial(_content, read_image(batch[roles.image][index]), known)
                    else:
                        read = partial(refuse, f"image {known}: its column {broken!r} cannot be read as text in UTF-8.")
                    yield Picture(safe_id(given or (known if broken else "")), known, roles.fields(row), read)
                    number += 1
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(store, name, error) from None


def _text(batch: pa.RecordBatch, index: int, columns: Sequence[str]) -> tuple[dict[str, Any], str | None]:
    """A row's values by column, and a column that cannot be read, whose value is None then."""
    row: dict[str, Any] = {}
    broken = None
    for name in columns:
        try:
            row[name] = batch[name][index].as_py()
        except (ValueError, OverflowError):  # not UTF-8, or a time beyond Python's
            row[name], broken = None, name
    return row, broken


def _image_reader(store: Store, name: str, schema: pa.Schema, roles: Roles) -> Callable[[Any], bytes | None]:
    missing = [column for column in roles.columns if column not in schema.names]
    if missing:
        raise InputError(f"source: {store.url(name)} has no column {missing[0]!r}, which other files have.")
    kind = schema.field(roles.image).type
    if _is_bytes(kind):
        return lambda value: value.as_py()
    if pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0 and _is_bytes(kind.field("bytes").type):
        return lambda value: value["bytes"].as_py() if value.is_valid else None
    raise InputError(
        f"image_column: {roles.image!r} of {store.url(name)} is {kind}; it must be binary, or a struct with `bytes`."
    )


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _content(content: bytes | None, name: str) -> bytes:
    if content is None:
        raise InputError(f"image {name}: its row holds no picture.")
    return content


def open_parquet(store: Store, filesystem: Any, name: str) -> ParquetReader:
    """A Parquet file of a source; an InputError where it is none."""
    try:
        file = filesystem.open_input_file(store.path(name))
        return ParquetReader(file, buffer_size=_READ_BUFFER)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(store, name, error) from None


def _unreadable(store: Store, name: str, error: Exception) -> InputError:
    return InputError(f"source: {store.url(name)} cannot be read as Parquet ({' '.join(str(error).split())}).")
