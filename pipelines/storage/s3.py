"""A prefix in an S3 bucket as a store.

Bytes go through s3fs: it can ask for a conditional put, and its errors carry S3's own codes, where pyarrow has
neither. Tables read in parallel by Ray Data and pyarrow.dataset go through pyarrow's own client.
"""

import mimetypes
import tempfile
import threading
import uuid
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import IO, Any, Self

from operators.errors import InputError
from operators.store_urls import check_name, check_prefix
from pipelines.storage.base import Names, Result, Store
from pipelines.storage.errors import MissingObjectError, StoreError, readable
from pipelines.storage.parquet import ParquetReader
from pipelines.storage.retrying import retry_seconds, retrying
from pipelines.storage.s3_connection import ArrowS3, endpoint_name, s3fs_client
from pipelines.storage.s3_errors import error_code, explain, is_transient

_WRITER = "g2d2-writer"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}
"""Text of ours is UTF-8, which browsers do not suppose."""


class S3Store(Store):
    """Objects are keys below a prefix; a put replaces an object in one step."""

    def __init__(self, bucket: str, prefix: str) -> None:
        self.bucket, self.prefix = bucket, prefix
        self.retry_seconds = retry_seconds()
        self._lock = threading.Lock()
        self._open_client: Any = None

    @property
    def root(self) -> str:
        return f"{self.bucket}/{self.prefix}" if self.prefix else self.bucket

    @property
    def filesystem(self) -> Any:
        return ArrowS3()

    def url(self, name: str = "") -> str:
        return f"s3://{self.path(name) if name else self.root}"

    def child(self, name: str) -> Self:
        return type(self)(self.bucket, self._key(name))

    def read_bytes(self, name: str) -> bytes:
        path = self.path(name)
        # one stream: splitting would first ask for the size, and lose the error's code
        data: bytes = self._ask(lambda client: client.cat_file(path, max_concurrency=1), name)
        return data

    def read_columns(self, name: str, columns: Sequence[str]) -> Any:
        def read(client: Any) -> Any:
            with client.open(self.path(name), "rb", cache_type="none") as file, readable(self.url(name)):
                return ParquetReader(file).read(columns)

        return self._ask(read, name)

    def write_bytes(self, name: str, data: bytes) -> None:
        path = self.path(name)
        self._ask(lambda client: client.pipe_file(path, data, **content_type(name)), name)

    def write_with(self, name: str, fill: Callable[[IO[bytes]], Result]) -> Result:
        path = self.path(name)
        with tempfile.NamedTemporaryFile(prefix="g2d2-") as file:
            result = fill(file)
            file.flush()
            self._ask(lambda client: client.put_file(file.name, path, **content_type(name)), name)
        return result

    def create_new(self, name: str, data: bytes) -> bool:
        path, writer = self.path(name), uuid.uuid4().hex

        def put(client: Any) -> bool:
            try:
                client.pipe_file(path, data, mode="create", Metadata={_WRITER: writer}, **content_type(name))
            except OSError as error:
                if not isinstance(error, FileExistsError) and error_code(error) != "PreconditionFailed":
                    raise
                # an earlier try may have arrived though its answer was lost
                held = client.call_s3("head_object", Bucket=self.bucket, Key=self._key(name))
                return bool(held["Metadata"].get(_WRITER) == writer)
            return True

        return self._ask(put, name)

    def exists(self, name: str) -> bool:
        return self._listed(name) is not None

    def size(self, name: str) -> int:
        entry = self._listed(name)
        if entry is None:
            raise MissingObjectError(self.url(name))
        return int(entry["Size"])

    def list(self, prefix: str = "") -> Names:
        start = f"{self.prefix}/" if self.prefix else ""
        names: Names = []
        more: dict[str, str] = {}
        while True:
            page = self._list_page(start + check_prefix(prefix), more)
            # keys that end in a slash only mark folders
            names += [o["Key"].removeprefix(start) for o in page.get("Contents", ()) if not o["Key"].endswith("/")]
            if not page.get("IsTruncated"):
                return sorted(names)
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def top(self) -> Names:
        start = f"{self.prefix}/" if self.prefix else ""
        page = self._list_page(start, {"Delimiter": "/"})
        keys = [entry["Key"] for entry in page.get("Contents", ())]
        keys += [entry["Prefix"] for entry in page.get("CommonPrefixes", ())]
        return sorted(key.removeprefix(start) for key in keys if key != start)

    def delete(self, name: str) -> None:
        key = self._key(name)
        self._ask(lambda client: client.call_s3("delete_object", Bucket=self.bucket, Key=key), name)

    def _listed(self, name: str) -> dict[str, Any] | None:
        """The object's entry in a listing; HEAD answers alike for a missing bucket, a wrong key and no object."""
        key = self._key(name)
        page = self._ask(lambda client: client.call_s3("list_objects_v2", Bucket=self.bucket, Prefix=key, MaxKeys=1))
        return next((entry for entry in page.get("Contents", ()) if entry["Key"] == key), None)

    def _list_page(self, prefix: str, more: dict[str, str]) -> Any:
        return self._ask(
            lambda client: client.call_s3("list_objects_v2", Bucket=self.bucket, Prefix=prefix, **more),
        )

    def _key(self, name: str) -> str:
        return f"{self.prefix}/{check_name(name)}" if self.prefix else check_name(name)

    def _ask(self, request: Callable[[Any], Result], name: str = "") -> Result:
        """Send a request, again while the server is away; what remains becomes one sentence without its chain."""
        try:
            return retrying(lambda: request(self._client()), is_transient, self.retry_seconds, self.url())
        except InputError:
            raise
        except Exception as error:
            if error_code(error) in ("NoSuchKey", "404"):
                raise MissingObjectError(self.url(name)) from None
            advice = explain(error, endpoint_name(), self.retry_seconds)
            raise StoreError(f"store {self.url(name)}: {advice}.") from None

    def _client(self) -> Any:
        with self._lock:
            if self._open_client is None:
                self._open_client = s3fs_client()
            return self._open_client


def content_type(name: str) -> dict[str, str]:
    """What a browser is told that an object is, by its name: it shows a page and would save one of unknown kind."""
    kind = _KINDS.get(PurePosixPath(name).suffix) or mimetypes.guess_type(name)[0]
    return {} if kind is None else {"ContentType": kind}
