"""Priors on the hub: a local copy of what a family needs, downloaded once."""

from pathlib import Path

from g2d2.priors.families import Family, recognise
from operators.errors import InputError

_CONFIGURATIONS = ("*.json",)
"""Fetched first where the family is not known yet: by these it is recognised."""
_OTHER_PRECISIONS = ("*.fp16.*", "*.bf16.*", "*.non_ema.*")
"""Variants beside the full weights: loading does not use them, and their presence says nothing about the full ones."""


def fetch_from_hub(
    repository: str,
    *,
    family: Family | None = None,
    revision: str | None = None,
    to: Path | None = None,
    download: bool = True,
) -> tuple[Family, Path]:
    """The family and the local copy of a hub repository; without `download` the hub's cache must hold it already."""

    def fetch(*patterns: str) -> Path:
        return _fetch(repository, patterns, revision, to, download)

    family = family or recognise(fetch(*_CONFIGURATIONS), repository)
    folder = fetch(*family.hub_patterns)
    if others := family.other_weights(folder):
        folder = fetch(*others)
    return family, folder


def cached_folder(repository: str, *, family: Family | None = None, revision: str | None = None) -> Path | None:
    """The local copy if the hub's cache has all its files; nothing is downloaded."""
    try:
        family, folder = fetch_from_hub(repository, family=family, revision=revision, download=False)
        family.require_files(folder)
    except InputError:
        return None
    return folder


def _fetch(repository: str, patterns: tuple[str, ...], revision: str | None, to: Path | None, download: bool) -> Path:
    import huggingface_hub

    huggingface_hub.logging.set_verbosity_error()  # its retries would fill the terminal before the reason is known
    try:
        return Path(
            huggingface_hub.snapshot_download(
                repository,
                revision=revision,
                allow_patterns=list(patterns),
                ignore_patterns=list(_OTHER_PRECISIONS),
                local_dir=to,
                local_files_only=not download,
            )
        )
    except (huggingface_hub.errors.HfHubHTTPError, OSError, ValueError) as error:
        offline = huggingface_hub.constants.HF_HUB_OFFLINE
        hint = "offline mode is on (HF_HUB_OFFLINE)" if offline else "check the name and the connection"
        raise InputError(
            f"prior: {repository!r} cannot be fetched from the hub and is not in its local cache "
            f"({type(error).__name__}); {hint}, or give a folder."
        ) from error
