"""Find a prior by name, folder, hub id or `module:Thing`; imports no model library."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from g2d2.priors.catalog import CATALOG, Home, KnownPrior, conversion_hint, packaged_folder
from g2d2.priors.families import Family, find_family, recognise
from g2d2.priors.hub import fetch_from_hub
from g2d2.priors.own_priors import find_own, is_own
from g2d2.priors.sized_sources import split_size
from operators import InputError
from operators.local_paths import local_path
from operators.validation import did_you_mean

if TYPE_CHECKING:
    from g2d2.priors.base import Prior, PriorFacts


@dataclass(frozen=True)
class LocatedPrior:
    """A prior that is on this machine, not loaded yet."""

    source: str
    """As it was given."""
    family: Family
    folder: Path | None
    """None where the prior is a class of the user's own."""

    def digest(self) -> str:
        """SHA-256 of all that decides what it computes, read anew at every call."""
        return self.family.digest(self.place)

    def facts(self) -> "PriorFacts":
        """What it takes and makes, from files or class attributes alone."""
        return self.family.facts(self.place)

    def check(self, known: KnownPrior | None = None) -> str:
        """Its shape in words, or one sentence on the first file that is bad, or not as `known` is published."""
        return self.family.check(self.place, known)

    def describe(self) -> dict[str, str]:
        """Lines for people, by name; `shape` is one of them."""
        return self.family.describe(self.place)

    def size(self) -> int:
        """Bytes of the files that are loaded."""
        return self.family.size(self.place)

    def load(self, **options: Any) -> "Prior":
        """The prior itself; options are those of `load_prior`."""
        from g2d2.priors.loading import load_prior  # with torch

        return load_prior(self, **options)

    @property
    def place(self) -> Path:
        """The folder as a family takes it; that of a class, which looks into none, is the working directory."""
        return self.folder or Path()


def locate_prior(source: str | Path, *, download: bool = True) -> LocatedPrior:
    """The prior behind a name, folder, hub id or `module:Thing`; `@256` behind any of these gives it that size.

    Without `download` the hub's cache must hold what is on the hub.
    """
    text = str(source)
    known = CATALOG.get(text)
    if known is not None:
        return LocatedPrior(text, *_locate_known(known, download))
    folder = local_path(text, "prior")
    if folder.is_dir():
        return LocatedPrior(text, recognise(folder), folder)
    if (resized := _resized(text, download)) is not None:
        return resized
    if is_own(text):
        return LocatedPrior(text, *find_own(text))
    if not is_hub_id(text):
        raise InputError(
            f"prior: {text!r}{did_you_mean(text, CATALOG)} is neither a folder here, a known name "
            f"({', '.join(CATALOG)}), a hub id like 'microsoft/vq-diffusion-ithq' nor module:Thing of your own."
        )
    return LocatedPrior(text, *fetch_from_hub(text, download=download))


def _resized(text: str, download: bool) -> LocatedPrior | None:
    """The prior behind `prior@256`; None where the text does not end in a size."""
    source, size = split_size(text)
    if size is None:
        return None
    from g2d2.priors.resized import ResizedFamily  # torch

    located = locate_prior(source, download=download)
    return LocatedPrior(text, ResizedFamily(located.family, size, text), located.folder)


def is_hub_id(source: str) -> bool:
    """Whether a source that is no folder here can only be a repository of the hub."""
    return source.count("/") == 1 and not source.startswith((".", "/", "~"))


def _locate_known(known: KnownPrior, download: bool) -> tuple[Family, Path]:
    family = find_family(known.family)
    if known.home is Home.PACKAGED:
        return family, packaged_folder(known)
    if known.home is Home.CONVERTED:
        raise InputError(conversion_hint(known))
    return fetch_from_hub(known.location, family=family, revision=known.revision, download=download)
