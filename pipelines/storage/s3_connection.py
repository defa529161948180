"""How to reach S3: keys, endpoint and region from the usual AWS variables or profile, the same for both clients."""

import os
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]
from botocore.session import Session  # type: ignore[import-untyped]
from pyarrow import fs

from operators.errors import InputError
from pipelines.storage.retrying import retry_seconds

_CONNECT_SECONDS, _ANSWER_SECONDS = 5, 60
_MOST_ATTEMPTS = 1000


def s3fs_client() -> Any:
    """A client of its own, that neither caches nor retries: fsspec shares clients across changed environments."""
    import s3fs  # type: ignore[import-untyped]

    client = s3fs.S3FileSystem(
        skip_instance_cache=True,
        use_listings_cache=False,
        endpoint_url=endpoint(),
        client_kwargs={"region_name": region()},
        config_kwargs={
            "retries": {"total_max_attempts": 1},
            "connect_timeout": _CONNECT_SECONDS,
            "read_timeout": _ANSWER_SECONDS,
        },
    )
    client.retries = 1
    return client


class ArrowS3(fs.S3FileSystem):  # type: ignore[misc]
    """pyarrow's client; it finds keys by itself, and a worker that unpickles one builds it from its own environment."""

    def __init__(self) -> None:
        address = urlsplit(endpoint() or "https:")
        super().__init__(
            endpoint_override=address.netloc or None,
            scheme=address.scheme,
            region=region(),
            connect_timeout=_CONNECT_SECONDS,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_attempts(retry_seconds())),
        )

    def __reduce__(self) -> tuple[type["ArrowS3"], tuple[()]]:
        return type(self), ()


def _attempts(seconds: float) -> int:
    """How many attempts fill this time: the SDK pauses at random below 1, 2, 4 ... and at most 20 seconds."""
    attempts, waited = 1, 0.0
    while waited < seconds and attempts < _MOST_ATTEMPTS:
        waited += min(2.0 ** (attempts - 1), 20.0) / 2
        attempts += 1
    return attempts


def endpoint() -> str | None:
    """AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or the profile's endpoint; None means Amazon's own."""
    address = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or _profile_endpoint()
    if not address:
        return None
    if "@" in address:
        raise InputError("AWS_ENDPOINT_URL holds credentials: put them in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.")
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise InputError(f"AWS_ENDPOINT_URL is {address!r}: it must be http://host:port or https://host.")
    return address.rstrip("/")


def endpoint_name() -> str:
    """The endpoint as a sentence would call it."""
    return endpoint() or "Amazon S3"


def region() -> str:
    """AWS_REGION, AWS_DEFAULT_REGION or the profile's region."""
    named = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or _profile().get("region")
    return str(named or "us-east-1")


def _profile_endpoint() -> str | None:
    profile = _profile()
    services = Session().full_config.get("services", {}).get(profile.get("services"), {})
    address = services.get("s3", {}).get("endpoint_url") or profile.get("endpoint_url")
    return str(address) if address else None


def _profile() -> dict[str, Any]:
    try:
        return dict(Session().get_scoped_config())
    except BotoCoreError:
        raise InputError(
            f"AWS_PROFILE is {os.environ.get('AWS_PROFILE', 'unset')!r}: it must name a profile in a readable AWS "
            "configuration file."
        ) from None
