"""What every source gives: encoded pictures, each with an id and its columns as text."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from operators import InputError
from operators.pictures import MAX_FILE_BYTES, check_regular
from pipelines.manifest.prompts import Fields
from pipelines.storage import MissingObjectError, Store, StoreError
from pipelines.storage.local import LocalStore


@dataclass(frozen=True)
class Picture:
    """One source image, not read yet."""

    id: str
    """As it will be in the manifest."""

    name: str
    """As the user knows it."""

    fields: Fields
    read: Callable[[], bytes]
    """Its content; an InputError says why this one cannot be had, which does not stop the others."""

    @property
    def label(self) -> str | None:
        return self.fields.get("label")


@dataclass(frozen=True)
class Source:
    """Pictures in a fixed order, streamed once."""

    count: int
    columns: tuple[str, ...]
    """What prompts may refer to."""

    pictures: Iterable[Picture]


def refuse(reason: str) -> bytes:
    """Stands where a picture would be read, for one that cannot be."""
    raise InputError(reason)


def printable(text: str) -> str:
    """A file's name whatever its bytes are; what is not UTF-8 becomes a question mark."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def read_file(store: Store, name: str) -> bytes:
    """A picture's file. On disk a file may be bad by itself; that a bucket is away is no picture's fault."""
    try:
        known = printable(store.url(name))
    except InputError as error:  # such as a name that is not UTF-8
        raise InputError(f"image {printable(name)}: it cannot be read; its {error}") from None
    try:
        size = store.size(name)
        if size > MAX_FILE_BYTES:
            raise InputError(f"image {known}: its file has {size} bytes and may have {MAX_FILE_BYTES}.")
        return store.read_bytes(name)
    except MissingObjectError:
        if isinstance(store, LocalStore):
            check_regular(Path(store.url(name)), f"image {known}")
        raise InputError(f"image {known}: there is no such file.") from None
    except StoreError as error:
        if isinstance(store, LocalStore):
            raise InputError(f"image {error}") from None
        raise
