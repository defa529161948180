"""A folder as a store."""

import errno
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Self

from operators.store_urls import check_name, check_prefix
from pipelines.storage.base import Names, Result, Store
from pipelines.storage.errors import MissingObjectError, StoreError

_PARTIAL = re.compile(r"\.[0-9a-f]{16}\.partial")
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_ADVICE = {
    errno.ENOSPC: "no space is left; free some or choose another place",
    errno.EDQUOT: "the disk quota is used up; free some space or choose another place",
    errno.EACCES: "permission is denied; correct the folder's owner or mode, or choose another place",
    errno.EPERM: "permission is denied; correct the folder's owner or mode, or choose another place",
    errno.EROFS: "the file system is read-only; choose another place",
    errno.ENOTDIR: "a part of the path is a file; choose another name",
    errno.EEXIST: "a part of the path is a file; choose another name",
    errno.EISDIR: "there is a folder of this name; choose another name",
    errno.ENAMETOOLONG: "the path is too long; choose a shorter one",
}


class LocalStore(Store):
    """Objects are files below `root`; a new one is written beside its place and then moved there."""

    readers = 4

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    @property
    def root(self) -> str:
        return str(self._root)

    @property
    def filesystem(self) -> Any:
        from pyarrow import fs

        return fs.LocalFileSystem()

    def url(self, name: str = "") -> str:
        return str(self._file(name) if name else self._root)

    def child(self, name: str) -> Self:
        return type(self)(str(self._file(name)))

    def read_bytes(self, name: str) -> bytes:
        file = self._file(name)
        with _explained(file):
            try:
                return file.read_bytes()
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                raise MissingObjectError(str(file)) from None

    def open_source(self, name: str) -> Any:
        import pyarrow as pa

        if not self.exists(name):
            raise MissingObjectError(self.url(name))
        with _explained(self._file(name)):
            return pa.OSFile(self.url(name))

    def write_bytes(self, name: str, data: bytes) -> None:
        self.write_with(name, lambda stream: stream.write(data))

    def write_with(self, name: str, fill: Callable[[IO[bytes]], Result]) -> Result:
        file = self._file(name)
        with _explained(file), _partial_file(file, fill) as (partial, result):
            os.replace(partial, file)
        return result

    def create_new(self, name: str, data: bytes) -> bool:
        file = self._file(name)
        with _explained(file), _partial_file(file, lambda stream: stream.write(data)) as (partial, _):
            try:
                os.link(partial, file)  # fails if the name is taken, and shows the content whole
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno not in _NO_HARD_LINKS:
                    raise
                return _create_exclusively(file, data)
        return True

    def exists(self, name: str) -> bool:
        file = self._file(name)
        with _explained(file):
            return file.is_file()

    def size(self, name: str) -> int:
        file = self._file(name)
        if not self.exists(name):
            raise MissingObjectError(str(file))
        with _explained(file):
            return file.stat().st_size

    def list(self, prefix: str = "") -> Names:
        start = self._root / check_prefix(prefix).rpartition("/")[0]
        names = []
        with _explained(start):
            for folder, _, files in os.walk(start, onerror=_unless_missing):
                inside = Path(folder).relative_to(self._root)
                names += [(inside / name).as_posix() for name in files if not _PARTIAL.fullmatch(name)]
        return sorted(name for name in names if name.startswith(prefix))

    def top(self) -> Names:
        with _explained(self._root):
            try:
                entries = list(os.scandir(self._root))
            except FileNotFoundError:
                return []
            return sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries)

    def delete(self, name: str) -> None:
        file = self._file(name)
        with _explained(file):
            try:
                file.unlink(missing_ok=True)
            except (IsADirectoryError, NotADirectoryError):
                return
            except PermissionError:
                if not file.is_dir():  # macOS raises this for a folder, which is no object
                    raise

    def _file(self, name: str) -> Path:
        return self._root / check_name(name)


@contextmanager
def _partial_file(file: Path, fill: Callable[[IO[bytes]], Result]) -> Iterator[tuple[Path, Result]]:
    """A filled file beside `file`, on disk, and what `fill` returned; gone afterwards unless it was moved."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f".{secrets.token_hex(8)}.partial")
    try:
        with partial.open("xb") as stream:
            result = fill(stream)
            stream.flush()
            os.fsync(stream.fileno())
        yield partial, result
    finally:
        partial.unlink(missing_ok=True)


def _create_exclusively(file: Path, data: bytes) -> bool:
    """For file systems without hard links: one winner, though a reader may see it half-written."""
    try:
        with file.open("xb") as stream:
            stream.write(data)
    except FileExistsError:
        return False
    return True


def _unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = (
            _ADVICE.get(error.errno or 0) or f"{error.strerror or type(error).__name__}; check the path and its disk"
        )
        raise StoreError(f"store {path}: {reason}.") from None
