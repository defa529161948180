"""Find the folder of a prior by name, path or hub id; imports no model library."""

from pathlib import Path

from g2d2.priors.catalog import CATALOG, Home, KnownPrior, conversion_hint, packaged_folder
from g2d2.priors.layout import COMPONENTS, WEIGHT_STEMS, has_safetensors
from operators import InputError
from operators.local_paths import local_path
from operators.validation import did_you_mean

_OTHER_PRECISIONS = ("*.fp16.*", "*.bf16.*", "*.non_ema.*")
"""Variants beside the full weights: loading does not use them, and their presence says nothing about the full ones."""


def locate_prior(source: str | Path, *, download: bool = True) -> Path:
    """The folder behind a name, path or hub id; without `download` the hub's cache must hold it already."""
    text = str(source)
    known = CATALOG.get(text)
    if known is not None:
        return _locate_known(known, download)
    folder = local_path(text, "prior")
    if folder.is_dir():
        return folder
    if text.startswith((".", "/", "~")) or text.count("/") != 1:
        raise InputError(
            f"prior: {text!r}{did_you_mean(text, CATALOG)} is neither a folder here, a known name "
            f"({', '.join(CATALOG)}) nor a hub id like 'microsoft/vq-diffusion-ithq'."
        )
    return fetch_from_hub(text, download=download)


def _locate_known(known: KnownPrior, download: bool) -> Path:
    if known.home is Home.PACKAGED:
        return packaged_folder(known)
    if known.home is Home.CONVERTED:
        raise InputError(conversion_hint(known))
    return fetch_from_hub(known.location, revision=known.revision, download=download)


def fetch_from_hub(
    repository: str, *, revision: str | None = None, to: Path | None = None, download: bool = True
) -> Path:
    """The local copy of a hub repository, downloaded once; safetensors where they exist, plain tensors elsewhere."""
    import huggingface_hub

    huggingface_hub.logging.set_verbosity_error()  # its retries would fill the terminal before the reason is known

    def snapshot(*patterns: str) -> Path:
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

    try:
        endings = ("json", "txt", "safetensors")
        folder = snapshot(*(f"{name}/*.{ending}" for name in COMPONENTS for ending in endings))
        pickled = [name for name in WEIGHT_STEMS if not has_safetensors(folder, name)]
        if pickled:
            folder = snapshot(*(f"{name}/*.bin" for name in pickled))
    except (huggingface_hub.errors.HfHubHTTPError, OSError, ValueError) as error:
        offline = huggingface_hub.constants.HF_HUB_OFFLINE
        hint = "offline mode is on (HF_HUB_OFFLINE)" if offline else "check the name and the connection"
        raise InputError(
            f"prior: {repository!r} cannot be fetched from the hub and is not in its local cache "
            f"({type(error).__name__}); {hint}, or give a folder."
        ) from error
    return folder
