"""Families of priors: how a folder is recognised, checked, described, hashed and loaded. Imports no model library."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from g2d2.choices import Compile
from g2d2.priors.catalog import KnownPrior
from g2d2.priors.digest import files_digest
from g2d2.priors.published_files import check_published
from g2d2.priors.source_digest import source_digest
from operators.errors import InputError
from operators.extensions import Extensions, subclass_of
from operators.signals import find_signal

if TYPE_CHECKING:
    import torch

    from g2d2.priors.base import Prior, PriorFacts

_PACKAGE = __name__.partition(".")[0]


class NetworkForm(TypedDict):
    """Where a prior's networks are put, and in which form."""

    device: "torch.device"
    dtype: "torch.dtype"
    channels_last: bool
    compile_networks: Compile
    rows: int
    """The batch that compiled networks are compiled and tried for."""


class Family:
    """One way to keep priors in folders. A subclass implements `recognises`, `files`, `facts` and `load`."""

    name: str
    kind: "type[Prior]"
    """What its priors are to methods, such as `Discrete`."""
    looks_for: str
    """What `recognises` looks for, to end the sentence `vq_diffusion looks for ...`."""
    hub_patterns: tuple[str, ...] = ("*.json", "*.txt", "*.safetensors")
    """Files of a hub repository that are fetched."""
    folder: str | Path | None = None
    """Where the files are, for a family that is itself given as a prior (`module:Thing`), relative to its module."""

    def recognises(self, folder: Path) -> bool:
        """Whether this folder, of which configurations alone may be there, belongs to this family."""
        raise NotImplementedError

    def files(self, folder: Path) -> list[Path]:
        """All that decides what the prior computes: its digest covers these."""
        raise NotImplementedError

    def facts(self, folder: Path) -> "PriorFacts":
        """What the prior takes and makes; a folder that could not be loaded is refused as far as files show it."""
        raise NotImplementedError

    def load(self, folder: Path, **form: Unpack["NetworkForm"]) -> "Prior":
        """The prior, its networks in this form."""
        raise NotImplementedError

    def other_weights(self, folder: Path) -> list[str]:
        """Patterns of further files to fetch, where those of `hub_patterns` left weights out."""
        return []

    def require_files(self, folder: Path) -> None:
        """Refuse a folder that lacks a file, without reading weights."""
        self.facts(folder)

    def check_files(self, folder: Path) -> None:
        """Refuse a folder with a file that is missing, damaged or does not fit the others."""
        self.require_files(folder)

    def describe(self, folder: Path) -> dict[str, str]:
        """Lines of `g2d2 prior info`; `shape` is one of them."""
        facts = self.facts(folder)
        return {"shape": find_signal(facts.signal).words(facts.x_shape)}

    def check(self, folder: Path, known: KnownPrior | None = None) -> str:
        """Its shape in words, or one sentence on the first file that is bad, or not as `known` is published."""
        self.check_files(folder)
        if known is not None:
            check_published(folder, known, lambda: self.digest(folder))
        return self.describe(folder)["shape"]

    def digest(self, folder: Path) -> str:
        """SHA-256 of the files and, where the family is not of this package, of the module that reads them."""
        files = files_digest(folder, self.files(folder))
        if type(self).__module__.partition(".")[0] == _PACKAGE:
            return files
        return hashlib.sha256(f"{source_digest(type(self))}/{files}".encode()).hexdigest()

    def size(self, folder: Path) -> int:
        """Bytes of all that is loaded."""
        return sum(path.stat().st_size for path in set(self.files(folder)) if path.is_file())


FAMILIES: Extensions[type[Family]] = Extensions(
    "prior family",
    "g2d2.families",
    {
        "vq_diffusion": "g2d2.priors.vq_diffusion.family:VQDiffusion",
        "pixel_diffusion": "g2d2.priors.pixel_diffusion.pixel_family:PixelDiffusion",
        "latent_diffusion": "g2d2.priors.latent_diffusion.latent_family:LatentDiffusion",
        "masked_image": "g2d2.priors.masked_image.masked_family:MaskedImage",
        "masked_motion": "g2d2.priors.masked_motion.motion_family:MaskedMotion",
    },
    subclass_of(Family),
)


def find_family(name: str) -> Family:
    """The family called so."""
    return FAMILIES.find(name)()


def recognise(folder: Path, source: str | None = None) -> Family:
    """The family of a folder by what is in it: our own are asked first, then those of installed packages.

    `source` is what the user calls it, where that is another name.
    """
    if source is None and not folder.is_dir():
        raise InputError(f"prior: {folder} is not a folder.")
    asked: list[Family] = []
    for family in _families():
        if family.recognises(folder):
            return family
        asked.append(family)
    wanted = "; ".join(f"{family.name} looks for {family.looks_for}" for family in asked)
    raise InputError(f"prior: {source or str(folder)!r} holds no prior of a known family: {wanted}.")


def prior_digest(folder: str | Path) -> str:
    """The digest of the prior in a folder."""
    folder = Path(folder)
    return recognise(folder).digest(folder)


def _families() -> Iterator[Family]:
    for name in sorted(FAMILIES.names(), key=lambda name: name not in FAMILIES.homes):
        yield find_family(name)
