"""Failures of a store, each as one sentence with what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

from operators.errors import InputError


class StoreError(InputError):
    """The store could not do what was asked."""


class MissingObjectError(StoreError):
    """There is nothing under this name."""

    def __init__(self, url: str) -> None:
        super().__init__(f"store: there is no {url}; check the name, or run the step that writes it.")
        self.url = url

    def __reduce__(self) -> tuple[type["MissingObjectError"], tuple[str]]:
        return type(self), (self.url,)


@contextmanager
def readable(url: str) -> Iterator[None]:
    """Decoding what was read: damaged content is one sentence."""
    import pyarrow as pa

    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, ValueError, OSError) as error:
        if isinstance(error, OSError) and not _from_decoding(error):
            raise
        why = " ".join(str(error).split())[:200]
        raise StoreError(
            f"store {url}: it is damaged ({why}); remove it and run the command that wrote it again."
        ) from None


def _from_decoding(error: OSError) -> bool:
    """Whether Arrow raised it for damaged pages; an OSError of a disk or a server has a number, a type or a cause."""
    return type(error) is OSError and error.errno is None and error.__cause__ is None
