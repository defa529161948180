"""Paths of this machine that a job needs: refused where the cluster has other machines."""

import socket
from collections.abc import Iterable
from dataclasses import dataclass

from cluster.jobs.connection import Dashboard
from operators import InputError


@dataclass(frozen=True)
class LocalPath:
    """A path on this machine, by the key that names it."""

    key: str
    path: str
    remedy: str
    """What to do instead, as the middle of a sentence: `give an s3:// URL`."""


def check_reach(paths: Iterable[LocalPath], board: Dashboard) -> None:
    """Raise an InputError for the first path unless every machine of the cluster is this one."""
    first = next(iter(paths), None)
    if first is not None and board.hosts() != {socket.gethostname()}:
        raise InputError(
            f"{first.key}: {first.path} is a path of this machine, and the cluster at {board.url} has others; "
            f"{first.remedy}, or say --shared-paths if every machine of the cluster sees the same files there."
        )
