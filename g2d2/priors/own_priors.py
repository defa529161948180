"""Priors of one's own, `module:Thing`: a subclass of a kind of prior, or a family with a folder. Imports no torch."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from g2d2.priors.catalog import CATALOG
from g2d2.priors.families import Family, NetworkForm
from g2d2.priors.source_digest import source_digest, source_file
from operators.errors import InputError
from operators.extensions import Extensions
from operators.signals import find_signal
from operators.validation import shorten

if TYPE_CHECKING:
    from g2d2.priors.base import Prior, PriorFacts


def _not_a_prior(thing: Any) -> str | None:
    from g2d2.priors.base import Prior  # torch, which the names alone do without

    if isinstance(thing, type) and issubclass(thing, Prior | Family):
        return None
    return (
        f"is {shorten(thing)}; it must be a subclass of {Prior.__module__}.{Prior.__qualname__} or "
        f"{Family.__module__}.{Family.__qualname__}"
    )


PRIORS: "Extensions[type[Prior] | type[Family]]" = Extensions(
    "prior", "g2d2.priors", dict.fromkeys(CATALOG, "g2d2.priors.catalog:CATALOG"), _not_a_prior
)
"""Those of the user and of installed packages. Names of the catalog are listed, and are located by their files."""


def is_own(source: str) -> bool:
    """Whether a source is `module:Thing`, or the name of an installed one."""
    return source not in CATALOG and PRIORS.known(source)


def find_own(source: str) -> tuple[Family, Path | None]:
    """The family of a prior of one's own, and its folder where it has one."""
    thing = PRIORS.find(source)
    if not issubclass(thing, Family):
        return PriorClass(source, thing), None
    family = thing()
    if family.folder is None:
        raise InputError(
            f"prior: {source!r} is a family, and says nothing of where its files are; give it an attribute `folder`."
        )
    folder = source_file(thing).absolute().parent / Path(family.folder).expanduser()
    if not folder.is_dir():
        raise InputError(f"prior: the folder of {source!r}, {folder}, is not there.")
    if not family.recognises(folder):
        raise InputError(f"prior: the folder of {source!r}, {folder}, lacks what it looks for: {family.looks_for}.")
    return family, folder


class PriorClass(Family):
    """A class of the user's as a family of one prior: it has no files, its code is all there is."""

    def __init__(self, source: str, thing: "type[Prior]") -> None:
        from g2d2.priors import base

        self.name, self.thing = source, thing
        self.kind = next(parent for parent in thing.__mro__ if parent.__module__ == base.__name__)

    def files(self, folder: Path) -> list[Path]:
        return []

    def digest(self, folder: Path) -> str:
        """That of its code."""
        return source_digest(self.thing)

    def facts(self, folder: Path) -> "PriorFacts":
        """From the class's attributes; no object is made for it."""
        from g2d2.priors.base import PriorFacts

        shape = getattr(self.thing, "x_shape", None)
        if not isinstance(shape, tuple | list):
            raise InputError(f"prior: {self.name!r} has no x_shape; give its class one, such as x_shape = (3, 32, 32).")
        try:
            sides = find_signal(self.thing.signal).check_shape(shape)
        except InputError as error:
            raise InputError(f"prior: {self.name!r}: {error}") from None
        steps = getattr(self.thing, "train_steps", None)
        if steps is None:
            steps = getattr(getattr(self.thing, "schedule", None), "train_steps", None)
        return PriorFacts(self.kind, self.thing.signal, sides, steps if isinstance(steps, int) else None)

    def load(self, folder: Path, **form: Unpack[NetworkForm]) -> "Prior":
        dtype = str(form["dtype"]).removeprefix("torch.")
        refused = {
            f"dtype {dtype}": dtype != "float32",
            "channels_last": form["channels_last"],
            "compile": form["compile_networks"],
        }
        for option, asked in refused.items():
            if asked:
                raise InputError(
                    f"prior: {self.name!r} is a class of your own, and {option} is for priors that are loaded from "
                    "files; leave it out, and do the like inside the class."
                )
        try:
            return self.thing(device=form["device"])
        except InputError:
            raise
        except Exception as error:  # the user's own code may raise anything
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            raise InputError(f"prior: {self.name!r} cannot be made on {form['device']} ({reason}).") from error

    def describe(self, folder: Path) -> dict[str, str]:
        summary = (self.thing.__doc__ or "").strip().split("\n")[0]
        return super().describe(folder) | ({"notes": summary} if summary else {})
