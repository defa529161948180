"""Everything that reads or writes results goes through a store: a folder, or `s3://bucket/prefix`."""

import os

from operators.store_urls import parse_url
from pipelines.storage.base import Store
from pipelines.storage.errors import MissingObjectError, StoreError, readable
from pipelines.storage.parquet import ParquetReader

__all__ = ["MissingObjectError", "ParquetReader", "Store", "StoreError", "open_store", "readable"]


def open_store(url: str | os.PathLike[str]) -> Store:
    """The store at a path, `file://` or `s3://bucket/prefix` URL; nothing is contacted before its first use.

    Keys, endpoint and region come from the usual AWS variables or profile, never from the URL.
    """
    location = parse_url(os.fspath(url))
    if location.bucket is None:
        from pipelines.storage.local import LocalStore

        return LocalStore(location.path)
    from pipelines.storage.s3 import S3Store

    return S3Store(location.bucket, location.path)
