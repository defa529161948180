"""Scores in Parquet, a file or a folder of them, as this thread alone reads them.

Arrow's own threads let go of a file after its rows are there; a command that ends in that moment is aborted.
"""

from functools import reduce

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from eval.score_columns import METADATA_KEY, filled, united


def read_table(place: str) -> pa.Table:
    """All rows at a path or a URL that Arrow can open; of a folder those of its files, in the order of their names."""
    files, path = fs.FileSystem.from_uri(place) if "://" in place else (fs.LocalFileSystem(), place)
    kind = files.get_file_info(path).type
    if kind == fs.FileType.NotFound:
        raise FileNotFoundError(place)
    if kind != fs.FileType.Directory:
        return _read(files, path)
    inside = files.get_file_info(fs.FileSelector(path, recursive=True))
    names = sorted(one.path for one in inside if one.is_file and not one.base_name.startswith((".", "_")))
    tables = [_read(files, name) for name in names]
    return _one_table(tables) if tables else pa.table({})


def _one_table(tables: list[pa.Table]) -> pa.Table:
    """Scores of several methods under the settings of all; other tables as far as their columns agree."""
    if all(METADATA_KEY in (table.schema.metadata or {}) for table in tables):
        try:
            schema = reduce(united, (table.schema for table in tables))
            return pa.concat_tables(filled(table, schema) for table in tables)
        except ValueError:  # not of one scoring
            pass
    return pa.concat_tables(tables, promote_options="default")


def _read(files: fs.FileSystem, path: str) -> pa.Table:
    with files.open_input_file(path) as source:
        return pq.ParquetFile(source, pre_buffer=False).read(use_threads=False)
