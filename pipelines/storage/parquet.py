"""Parquet files as this thread alone reads them.

Arrow's own threads let go of a file after its rows are there; a command that ends in that moment is aborted.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


class ParquetReader:
    """An open file: its footer as `metadata` and `schema`, and its rows whole, by group or in batches."""

    def __init__(self, source: Any, buffer_size: int = 0, dictionary: Sequence[str] = ()) -> None:
        import pyarrow.parquet as pq  # commands that read no table start without it

        self._file = pq.ParquetFile(source, pre_buffer=False, buffer_size=buffer_size, read_dictionary=[*dictionary])
        self.metadata = self._file.metadata
        self.schema: pa.Schema = self._file.schema_arrow

    def read(self, columns: Sequence[str] | None = None) -> "pa.Table":
        """All rows; a ValueError names a column that is not there."""
        if columns is None:
            return self._file.read(use_threads=False)
        missing = sorted({*columns} - {*self.schema.names})
        if missing:
            raise ValueError(f"it has no column {missing[0]}")
        return self._file.read(columns=[*columns], use_threads=False).select([*columns])

    def read_group(self, group: int, columns: Sequence[str] | None = None) -> "pa.Table":
        """The rows of one row group."""
        return self._file.read_row_group(group, columns=None if columns is None else [*columns], use_threads=False)

    def batches(self, columns: Sequence[str], rows: int = 65536) -> Iterator["pa.RecordBatch"]:
        """All rows, so many at once."""
        batches: Iterator[pa.RecordBatch] = self._file.iter_batches(rows, columns=[*columns], use_threads=False)
        return batches
