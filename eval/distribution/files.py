"""Where clean-fid's files are on this machine, and how they arrive when downloads are allowed."""

import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

import torch

from eval.distribution.results import Unavailable
from eval.weights import DOWNLOAD_ENV, WEIGHTS_ENV, downloads_allowed
from operators.local_paths import local_path
from operators.validation import shorten


@dataclass(frozen=True)
class CleanFidFile:
    """A file clean-fid would fetch by itself, without asking and leaving half of it behind when interrupted."""

    name: str
    what: str
    """The file as a user knows it, to begin a sentence with."""

    home: Path
    """Where clean-fid keeps it."""

    download: Callable[[str], str]
    """clean-fid's own function: fetches into a folder and returns the path."""

    sha256: str | None = None
    """Digest it must have, where one is published."""

    def locate(self, weights_dir: Path | None = None) -> Path | Unavailable:
        """The first whole copy, downloaded if there is none and that is allowed."""
        places = self._places(weights_dir)
        broken = None
        for path in places:
            if path.is_file():
                if self._whole(path):
                    return path
                broken = broken or path
        if broken is not None:
            return Unavailable(f"{self.what} at {broken} is cut short or another file: delete it and try again.")
        if downloads_allowed():
            return self._fetch(places[0])
        looked = ", ".join(str(path.parent) for path in places)
        return Unavailable(
            f"{self.what} ({self.name}) is in none of {looked}: put it in a folder named by {WEIGHTS_ENV} "
            f"or allow a download with {DOWNLOAD_ENV}=1."
        )

    def _places(self, weights_dir: Path | None) -> Sequence[Path]:
        named = [weights_dir, os.environ.get(WEIGHTS_ENV)]
        folders = [local_path(folder, "weights") for folder in named if folder]
        return [folder / self.name for folder in (*folders, self.home, Path(torch.hub.get_dir()) / "checkpoints")]

    def _whole(self, path: Path) -> bool:
        if self.sha256 is None:
            return True
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == self.sha256

    def _fetch(self, path: Path) -> Path | Unavailable:
        """Into a folder beside its place, then moved: other workers see all of the file or none."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # clean-fid prints to stdout, which belongs to the command's own output
            with (
                tempfile.TemporaryDirectory(dir=path.parent, prefix=".partial-") as folder,
                contextlib.redirect_stdout(sys.stderr),
            ):
                fetched = Path(self.download(folder))
                if not self._whole(fetched):
                    return Unavailable(f"{self.what} was downloaded but is not the published file: try again.")
                os.replace(fetched, path)
        except (OSError, HTTPException) as error:
            return Unavailable(f"{self.what} could not be downloaded ({shorten(str(error))}): put it at {path}.")
        return path
