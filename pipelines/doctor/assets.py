"""Weights that metrics and priors need: there, or how to get them. Nothing is loaded or downloaded."""

from eval.distribution.inception import find_inception
from eval.distribution.results import Unavailable
from eval.weights import Backbone, downloads_allowed, find_weights
from g2d2.priors.catalog import CATALOG, packaged_folder
from g2d2.priors.layout import read_shape, weight_files
from operators import InputError
from pipelines.doctor.check import Finding

EMBEDDED = "cifar10"


def lpips_vgg() -> Finding:
    return _backbone("vgg16")


def lpips_alex() -> Finding:
    return _backbone("alexnet")


def inception() -> Finding:
    """FID and KID need it; their VGG16 counterparts do not."""
    if downloads_allowed():
        return Finding("ok", "fetched on first use where it is missing, since downloads are allowed")
    found = find_inception()
    if isinstance(found, Unavailable):
        return Finding("note", f"fid and kid are unavailable, fd_vgg16 and kd_vgg16 are not: {found.reason}")
    return Finding("ok", str(found))


def prior() -> Finding:
    """The embedded prior's files are there and its configurations agree."""
    try:
        folder = packaged_folder(CATALOG[EMBEDDED])
        shape = read_shape(folder)
    except InputError as error:
        return Finding("fail", str(error))
    missing = [part for part in ("vqvae", "transformer", "text_encoder") if not weight_files(folder, part)]
    if missing:
        return Finding("fail", f"prior {EMBEDDED!r} has no weights in {', '.join(missing)}: install the package again.")
    return Finding("ok", f"{EMBEDDED}: {shape}")


def _backbone(name: Backbone) -> Finding:
    try:
        found = find_weights(name)
    except InputError as error:
        return Finding("note", str(error))
    if found.source == "download":
        return Finding("ok", f"fetched to {found.path} on first use, since downloads are allowed")
    return Finding("ok", f"{found.source}: {found.path}")
