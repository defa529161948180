"""Weights that metrics and priors need: there, or how to get them. Nothing is loaded or downloaded."""

from eval.distribution.inception import find_inception
from eval.distribution.results import Unavailable
from eval.weights import Backbone, downloads_allowed, find_weights
from g2d2.priors.locating import locate_prior
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
    weights = find_inception()
    if isinstance(weights, Unavailable):
        return Finding("note", f"fid and kid are unavailable, fd_vgg16 and kd_vgg16 are not: {weights.reason}")
    return Finding("ok", str(weights))


def prior() -> Finding:
    """The embedded prior's files are there and its configurations agree."""
    try:
        located = locate_prior(EMBEDDED)
    except InputError as error:
        return Finding("fail", str(error))
    try:
        located.family.require_files(located.place)
        shape = located.describe()["shape"]
    except InputError as error:
        return Finding("fail", f"{str(error).rstrip('.')}; install the package again.")
    return Finding("ok", f"{EMBEDDED}: {shape}")


def _backbone(name: Backbone) -> Finding:
    try:
        weights = find_weights(name)
    except InputError as error:
        return Finding("note", str(error))
    if weights.source == "download":
        return Finding("ok", f"fetched to {weights.path} on first use, since downloads are allowed")
    return Finding("ok", f"{weights.source}: {weights.path}")
