"""The contract of a store: whole objects by relative name, the same on disk and in a bucket."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import IO, Any, Self, TypeVar

from operators.store_urls import check_name
from pipelines.storage.errors import readable
from pipelines.storage.parquet import ParquetReader

Names = list[str]
Result = TypeVar("Result")


class Store(ABC):
    """A folder or a bucket's prefix. It travels to workers as its URL alone; keys come from their environment."""

    readers = 16
    """Objects that are worth reading at once; each takes some megabytes meanwhile."""

    @abstractmethod
    def read_bytes(self, name: str) -> bytes:
        """The object whole; a MissingObjectError if there is none."""

    @abstractmethod
    def write_bytes(self, name: str, data: bytes) -> None:
        """Create or replace the object; readers see the old one or the new one, never a part."""

    @abstractmethod
    def write_with(self, name: str, fill: Callable[[IO[bytes]], Result]) -> Result:
        """Create or replace the object with what `fill` writes into a file, and return what that returns."""

    @abstractmethod
    def create_new(self, name: str, data: bytes) -> bool:
        """Write the object if there is none; True for exactly one of any number of writers."""

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Whether there is an object of exactly this name; a folder is none."""

    @abstractmethod
    def size(self, name: str) -> int:
        """The object's bytes, counted without reading them; a MissingObjectError if there is none."""

    @abstractmethod
    def list(self, prefix: str = "") -> Names:
        """The names of all objects that begin with `prefix`, at any depth, sorted."""

    @abstractmethod
    def top(self) -> Names:
        """What lies directly in the store, folders with a slash at their end; of thousands only the first."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Remove the object; nothing happens if there is none."""

    @abstractmethod
    def url(self, name: str = "") -> str:
        """The address of an object, or of the store itself."""

    @abstractmethod
    def child(self, name: str) -> Self:
        """The store that begins at this folder or prefix."""

    @property
    @abstractmethod
    def filesystem(self) -> Any:
        """A `pyarrow.fs.FileSystem` for Ray Data and pyarrow.dataset; it holds no keys, so neither does its pickle."""

    @property
    @abstractmethod
    def root(self) -> str:
        """The store's path on `filesystem`."""

    def path(self, name: str) -> str:
        """An object's path on `filesystem`."""
        return f"{self.root}/{check_name(name)}"

    def read_table(self, name: str, columns: Sequence[str] | None = None) -> Any:
        """A Parquet object as a pyarrow Table."""
        with self.open_source(name) as source, readable(self.url(name)):
            return ParquetReader(source).read(columns)

    def read_columns(self, name: str, columns: Sequence[str]) -> Any:
        """A few columns of a large Parquet object; only their part of it is read."""
        return self.read_table(name, columns)

    def open_source(self, name: str) -> Any:
        """The object as a pyarrow file to read parts of; it is read whole where parts are dear."""
        import pyarrow as pa

        return pa.BufferReader(self.read_bytes(name))

    def write_table(self, name: str, table: Any) -> None:
        """A pyarrow Table as one Parquet object, whole or not at all."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        self.write_bytes(name, sink.getvalue().to_pybytes())

    def __reduce__(self) -> tuple[Callable[[str], "Store"], tuple[str]]:
        from pipelines.storage import open_store

        return open_store, (self.url(),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url()!r})"
