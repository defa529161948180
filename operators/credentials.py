"""Secrets in addresses: found before an address is stored, and masked before it is shown."""

import re
from urllib.parse import unquote

from operators.errors import InputError

_NAMES = (
    r"(?:[\w.-]*[_.-])?(?:pass|auth|key|sig|signature)"
    r"|[\w.-]*(?:passw(?:or)?d|passphrase|pwd|secret|token(?!s)|credential|apikey|accesskey|accountkey)[\w.-]*"
)
_OPTION = re.compile(rf"(?i)(?:^|[?&;#,\s])\s*(?:{_NAMES})\s*=\s*[^\s&;]")
_SHOWN_OPTION = re.compile(
    rf"(?i)(?<![\w.%/-])({_NAMES})(\s*=\s*)(?!value\b)[^&;\s'\"]+"
)  # key=value is our own word for a setting
_LOGIN = re.compile(r"(?<!sqlite)(?<!file)://\S*@")  # up to the last @: a password may hold one
_PASSWORD_WITH_A_SLASH = re.compile(r"[^:/@]*:(?!\d*/)\S*@")
"""A login whose password goes on behind a slash; a number there is a port."""
_WORD = re.compile(r"[^\s'\"]+")
_FOLDERS = ("sqlite", "file")
"""Schemes without a host: what stands before an @ is part of a path."""


def holds_secret(address: str) -> bool:
    """Whether an address has a password, a token or a key in it, as a login or as an option, in any spelling."""
    text = unquote(address).strip()
    scheme, separator, rest = text.partition("://")
    scheme = scheme.lower().strip()
    options = re.split(r"[?;#]", text, maxsplit=1)[1:]
    if options and _OPTION.search(options[0]):
        return True
    if scheme.partition("+")[0] in _FOLDERS and separator:
        return False
    if not separator:
        return re.match(r"[^:/@]+:[^/]*@", text) is not None
    host = rest.partition("/")[0]
    login, at, _ = host.rpartition("@")
    if at:
        return ":" in login or scheme in ("http", "https", "s3")
    if scheme == "s3":  # a bucket has no port
        return ":" in host and "@" in rest
    return _PASSWORD_WITH_A_SLASH.match(rest) is not None


def refuse_secrets(address: str, field: str) -> None:
    """An InputError that names the field and not the secret."""
    if holds_secret(address):
        raise InputError(
            f"{field}: the address holds a password, token or key, which would be stored and shown with it; give that "
            "in the environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, MLFLOW_TRACKING_PASSWORD)."
        )


def masked(text: str) -> str:
    """A sentence, or an address, without its secrets."""
    logins = _WORD.sub(lambda word: _LOGIN.sub("://***@", word[0]) if holds_secret(word[0]) else word[0], text)
    shown = _SHOWN_OPTION.sub(r"\1\2***", logins)
    return _WORD.sub(lambda word: "***" if "***" not in word[0] and holds_secret(word[0]) else word[0], shown)
