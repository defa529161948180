"""What an S3 client's error means: wait and try again, or one sentence about what to change."""

from typing import Any

import aiohttp
from botocore import exceptions as boto  # type: ignore[import-untyped]
from fsspec.exceptions import FSTimeoutError  # type: ignore[import-untyped]

_WAIT_CODES = {
    "ConditionalRequestConflict",
    "OperationAborted",
    "RequestTimeout",
    "RequestTimeoutException",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "TooManyRequests",
}
_FULL_CODES = {"InsufficientStorage", "StorageCapExceeded", "XMinioStorageFull"}
_CONNECTION = (
    aiohttp.ClientError,
    boto.ConnectionError,
    boto.HTTPClientError,
    boto.IncompleteReadError,
    boto.ResponseStreamingError,
    ConnectionError,
    FSTimeoutError,
    TimeoutError,
)
_KEYS = "correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
_BY_CODE = {
    "NoSuchBucket": "the bucket does not exist; create it or correct its name",
    "InvalidBucketName": "the bucket's name is not allowed; correct it",
    "SignatureDoesNotMatch": f"the secret key is wrong; {_KEYS}",
    "InvalidAccessKeyId": f"the access key is unknown there; {_KEYS}",
    "AuthorizationHeaderMalformed": "the request was signed for another region; set AWS_REGION to the bucket's",
    "PermanentRedirect": "the bucket is in another region; set AWS_REGION to the bucket's",
    "ExpiredToken": "the session's credentials have expired; log in again",
    "InvalidToken": "AWS_SESSION_TOKEN is not valid; log in again, or unset it",
    "RequestTimeTooSkewed": "this machine's clock is wrong; set it",
    "AccessDenied": "permission is denied; allow these keys to list, read and write there",
    "AllAccessDisabled": "permission is denied; allow these keys to list, read and write there",
    "NotImplemented": "the server does not know this request; exclusive writes need If-None-Match",
}
_BY_TYPE: tuple[tuple[type[BaseException], str], ...] = (
    (boto.NoCredentialsError, "there are no keys; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"),
    (boto.PartialCredentialsError, f"the keys are incomplete; {_KEYS}"),
    (boto.ProfileNotFound, "the profile does not exist; correct AWS_PROFILE"),
    (boto.SSLError, "the server's certificate is not trusted; correct AWS_ENDPOINT_URL or set AWS_CA_BUNDLE"),
    (boto.ParamValidationError, "the bucket or name is not allowed in S3; correct it"),
    (boto.BotoCoreError, "the AWS configuration cannot be used; check AWS_PROFILE, AWS_REGION and AWS_ENDPOINT_URL"),
    (ValueError, "the AWS configuration cannot be used; check AWS_ENDPOINT_URL and AWS_REGION"),
)


def error_code(error: BaseException | None) -> str:
    """S3's own code, also where s3fs wrapped the answer in a Python error; empty if the server gave none."""
    return str(_answer(error).get("Error", {}).get("Code", ""))


def is_transient(error: BaseException) -> bool:
    """Whether the same request may well succeed a little later."""
    if isinstance(error, boto.SSLError):
        return False
    if _answer(error):
        code, status = error_code(error), _status(error)
        return code in _WAIT_CODES or status == 429 or (status >= 500 and status not in (501, 507) and not _full(error))
    return isinstance(error, _CONNECTION)


def explain(error: BaseException, endpoint: str, seconds: float) -> str:
    """The error as advice. Only codes are quoted: a message may repeat what was signed."""
    code, status = error_code(error), _status(error)
    if code in _BY_CODE:
        return _BY_CODE[code]
    if _full(error):
        return "no space is left there; free some or choose another place"
    if status == 403:
        return _BY_CODE["AccessDenied"]
    longer = f"or wait longer with G2D2_STORE_RETRY_SECONDS (now {seconds:g})"
    if status >= 500 or code in _WAIT_CODES:
        return f"{endpoint} keeps failing with {code or status}; look at the server, {longer}"
    if code:
        return f"{endpoint} refused the request with {code}; check the URL, AWS_ENDPOINT_URL and AWS_REGION"
    if is_transient(error):
        return f"{endpoint} cannot be reached; start it, correct AWS_ENDPOINT_URL, {longer}"
    known = (advice for kind, advice in _BY_TYPE if isinstance(error, kind))
    return next(known, f"the client failed with {type(error).__name__}; check the URL and the AWS variables")


def _answer(error: BaseException | None) -> dict[str, Any]:
    while error is not None:
        if isinstance(error, boto.ClientError):
            return dict(error.response)
        error = error.__cause__
    return {}


def _status(error: BaseException) -> int:
    return int(_answer(error).get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _full(error: BaseException) -> bool:
    message = str(_answer(error).get("Error", {}).get("Message", "")).lower()
    code = error_code(error)
    full = code in _FULL_CODES or "quotaexceeded" in code.lower()  # servers put their own names before it
    return full or _status(error) == 507 or "no space left" in message
