"""URLs of stores, and names inside a store: which are accepted, and where they lead. Nothing is contacted."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from operators.errors import InputError
from operators.local_paths import local_path
from operators.validation import shorten

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029\ud800-\udfff]")
_LONGEST_PART = 255


@dataclass(frozen=True)
class Location:
    """Where a store lives: a folder, or a prefix in a bucket."""

    bucket: str | None
    """None means files on this machine."""

    path: str
    """An absolute folder, or the part of every key before the name, without a slash at its ends."""

    @property
    def url(self) -> str:
        """The same text for every way to write this place: a folder's path, or `s3://bucket/prefix`."""
        if self.bucket is None:
            return self.path
        return f"s3://{self.bucket}/{self.path}" if self.path else f"s3://{self.bucket}"


def parse_url(url: str) -> Location:
    """The place a path, `file://` or `s3://` URL means; one that holds credentials is refused unseen."""
    scheme, separator, rest = _plain(url).partition("://")
    if not separator:
        return Location(None, str(local_path(url, "store URL").absolute()))
    if scheme == "s3":
        return _bucket_location(rest)
    if scheme == "file" and rest.startswith("/"):
        return Location(None, str(Path(_plain(unquote(urlsplit(url).path))).absolute()))
    raise InputError(
        f"store URL starts with {shorten(scheme)}://: it must be a path, file:///folder or s3://bucket/prefix."
    )


def _plain(text: str) -> str:
    if not text or _CONTROL.search(text):
        raise InputError(
            f"store URL is {shorten(text)}: it must be a path or s3://bucket/prefix, without control characters."
        )
    return text


def _bucket_location(rest: str) -> Location:
    bucket, _, path = rest.partition("/")
    if "@" in bucket or ":" in bucket:
        raise InputError(
            "store URL holds credentials or a host before its first slash: it must be s3://bucket/prefix, with keys in "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or a profile, and the host in AWS_ENDPOINT_URL."
        )
    if not _BUCKET.fullmatch(bucket):
        raise InputError(
            f"store URL has the bucket {shorten(bucket)}: it must be 3 to 63 letters, digits, '.', '-', '_'."
        )
    if "?" in path or "#" in path:
        raise InputError(
            "store URL holds '?' or '#': options are not read from it; set AWS_ENDPOINT_URL and AWS_REGION."
        )
    path = path.rstrip("/")
    return Location(bucket, check_name(path) if path else "")


def check_name(name: str) -> str:
    """The relative name itself, or an InputError if it could mean a place outside the store."""
    parts = name.split("/")
    wrong = _CONTROL.search(name) or "\\" in name or any(part in ("", ".", "..") for part in parts)
    if wrong or any(len(part.encode(errors="replace")) > _LONGEST_PART for part in parts):
        raise InputError(
            f"name in the store is {shorten(name)}: it must be relative, of parts of 1 to {_LONGEST_PART} bytes joined "
            "by '/', without '.', '..', backslash or control characters."
        )
    return name


def check_prefix(prefix: str) -> str:
    """The beginning of names: nothing, or a name that may end in a slash."""
    if prefix:
        check_name(prefix.removesuffix("/"))
    return prefix
