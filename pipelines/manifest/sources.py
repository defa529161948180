"""Where pictures come from: a folder, Parquet, a CSV, or the images that come with the package."""

from collections.abc import Iterator
from functools import partial
from importlib.resources import files
from pathlib import PurePosixPath

from operators import InputError
from operators.validation import did_you_mean
from pipelines.manifest.csv_source import csv_source
from pipelines.manifest.parquet_source import parquet_source
from pipelines.manifest.picture import Picture, Source, printable, read_file
from pipelines.manifest.schema import safe_id
from pipelines.manifest.settings import BuildSettings
from pipelines.storage import Store, open_store

HELD_OUT = "cifar10-heldout"

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm")
"""What counts as a picture in a folder, in lower or upper case."""


def open_source(settings: BuildSettings) -> Source:
    """The pictures that `settings.source` means; an InputError if there are none."""
    url = settings.source
    if url == HELD_OUT:
        # the file's `label` is a number; people know the class by its name
        named = settings.model_copy(update={"label_column": settings.label_column or "class"})
        return _not_empty(parquet_source(open_store(str(_packaged())), [f"{HELD_OUT}.parquet"], named), url)
    parent, name = _parent(url)
    if url.lower().endswith(".csv"):
        if not parent.exists(name):
            raise InputError(f"source: there is no file {url}.")
        return _not_empty(csv_source(parent, name, settings), url)
    if url.lower().endswith(".parquet") and parent.exists(name):
        return _not_empty(parquet_source(parent, [name], settings), url)
    return _not_empty(_folder_source(open_store(url), settings), url)


def _folder_source(store: Store, settings: BuildSettings) -> Source:
    visible = [name for name in store.list() if not any(part.startswith((".", "_")) for part in name.split("/"))]
    pictures = [name for name in visible if name.lower().endswith(SUFFIXES)]
    tables = [name for name in visible if name.lower().endswith(".parquet")]
    if pictures and tables:
        raise InputError(
            f"source: {store.url()} holds pictures and Parquet files; give the folder or file of one kind."
        )
    if tables:
        return parquet_source(store, tables, settings)
    for setting in ("image_column", "id_column", "label_column"):
        if getattr(settings, setting) is not None:
            raise InputError(f"{setting}: {store.url()} is a folder of pictures, which has no columns.")
    return Source(len(pictures), (), _pictures(store, pictures))


def _pictures(store: Store, names: list[str]) -> Iterator[Picture]:
    for name in names:
        source = safe_id(str(PurePosixPath(name).with_suffix("")))
        yield Picture(source, printable(name), {}, partial(read_file, store, name))


def _not_empty(source: Source, url: str) -> Source:
    if source.count == 0:
        raise InputError(
            f"source: {url} is {'' if url.lower().endswith(('.csv', '.parquet')) else 'missing or '}without pictures; "
            f"it must be a folder of {', '.join(SUFFIXES)} or Parquet files, a .parquet or .csv file, or "
            f"{HELD_OUT}{did_you_mean(url, [HELD_OUT])}."
        )
    return source


def _parent(url: str) -> tuple[Store, str]:
    """The store a file lies in, and its name there."""
    folder, slash, name = url.rstrip("/").rpartition("/")
    if folder.endswith(":/"):  # s3://bucket has no parent
        return open_store(url), "-"
    return open_store(folder or (slash or ".")), name or "-"


def _packaged() -> object:
    return files("g2d2.priors").joinpath("embedded")
