"""Published statistics of a data set, by its name at clean-fid, in place of ground truths."""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.distribution.files import CleanFidFile
from eval.distribution.results import Unavailable

_URL = "https://www.cs.cmu.edu/~clean-fid/stats/"


@dataclass(frozen=True, eq=False)
class PublishedGaussian:
    """Mean (F,) and covariance (F, F) of a data set; how many images they come from is not published."""

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]
    count: None = None
    left_out: int = 0


def reference_gaussian(reference: str, weights_dir: Path | None = None) -> PublishedGaussian | Unavailable:
    """What FID compares with: `reference` is name/resolution/split, as in ffhq/256/trainval."""
    arrays = _read(reference, "", ("mu", "sigma"), weights_dir)
    if isinstance(arrays, Unavailable):
        return arrays
    mean, covariance = (array.astype(np.float64) for array in arrays)
    return PublishedGaussian(mean, covariance)


def reference_features(reference: str, weights_dir: Path | None = None) -> NDArray[Any] | Unavailable:
    """What KID compares with: the features (N, F) of every image of the data set."""
    arrays = _read(reference, "_kid", ("feats",), weights_dir)
    return arrays if isinstance(arrays, Unavailable) else arrays[0]


def _read(
    reference: str, suffix: str, keys: tuple[str, ...], weights_dir: Path | None
) -> list[NDArray[Any]] | Unavailable:
    file = _file(reference, suffix)
    path = file.locate(weights_dir)
    if isinstance(path, Unavailable):
        return path
    try:
        with np.load(path, allow_pickle=False) as stored:
            return [stored[key] for key in keys]
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile):
        return Unavailable(f"{file.what} at {path} cannot be read: delete it and try again.")


def _file(reference: str, suffix: str) -> CleanFidFile:
    import cleanfid  # loads torchvision, which takes seconds
    from cleanfid.downloads_helper import check_download_url

    name, resolution, split = reference.split("/")
    file = f"{name}_clean_{split}_{resolution}{suffix}.npz".lower()
    return CleanFidFile(
        name=file,
        what=f"the clean-fid reference {reference}",
        home=Path(cleanfid.__file__).parent / "stats",
        download=lambda folder: check_download_url(local_folder=folder, url=_URL + file),
    )
