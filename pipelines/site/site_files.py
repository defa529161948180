"""The pages of a site in their store, and the record of which were written: others' files are never touched."""

from functools import cached_property
from hashlib import blake2b

from pydantic import BaseModel, ConfigDict

from operators import InputError
from pipelines.storage import Store, open_store
from pipelines.storage.sweep_folder import SUMMARY, read_record

INDEX = "index.html"
RECORD = "site.json"


class _Written(BaseModel):
    """What earlier runs left."""

    model_config = ConfigDict(extra="forbid", strict=True)

    files: dict[str, str] = {}
    """Digests by name; empty for one that was about to be written."""


class SiteFiles:
    """Writes what changed, and removes what earlier runs wrote and this one did not."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.written: list[str] = []
        self.unchanged: list[str] = []
        self.removed: list[str] = []

    @cached_property
    def store(self) -> Store:
        return open_store(self.url)

    @cached_property
    def _known(self) -> dict[str, str]:
        return dict(read_record(self.store, RECORD, _Written).files) if self.store.exists(RECORD) else {}

    def claim(self) -> None:
        """Refuse a place where others' files would be overwritten, before anything is made."""
        if self.store.exists(SUMMARY):
            raise InputError(f"--out: {self.url} is a sweep's own folder; give the site a folder of its own.")
        self._refuse_others(INDEX)

    def write(self, name: str, content: bytes) -> None:
        """Create or replace one of the site's files; one of equal content stays as it is."""
        self._refuse_others(name)
        digest = blake2b(content, digest_size=16).hexdigest()
        if self._known.get(name) == digest and self.store.exists(name):
            self.unchanged.append(name)
            return
        if name not in self._known:
            self._known[name] = ""
            self._keep()  # first, so that a run that is cut off knows its files again
        self.store.write_bytes(name, content)
        self._known[name] = digest
        self.written.append(name)

    def finish(self) -> None:
        """Remove what earlier runs wrote and nothing links to any more, and write the record."""
        for name in [name for name in self._known if name not in (*self.written, *self.unchanged)]:
            self.store.delete(name)
            del self._known[name]
            self.removed.append(name)
        self._keep()

    def _keep(self) -> None:
        self.store.write_bytes(RECORD, _Written(files=dict(sorted(self._known.items()))).model_dump_json().encode())

    def _refuse_others(self, name: str) -> None:
        if name not in self._known and self.store.exists(name):
            raise InputError(
                f"--out: {self.store.url(name)} was not written by `g2d2 site`, which would replace it; give the "
                "site a folder of its own."
            )
