"""Environment variables that may travel with a job: everyone who sees the dashboard can read them."""

import os
import re
from collections.abc import Iterable

from operators import InputError

_SECRET = re.compile(
    r"KEY|TOKEN|SECRET|PASS|PWD|CREDENTIAL|AUTH|PRIVATE|COOKIE|SIGNATURE|DSN|CONNECTION|CERT|NETRC", re.IGNORECASE
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LOGIN = re.compile(r"://[^/\s]*@")


def passed_on(names: Iterable[str]) -> dict[str, str]:
    """The values of these variables here; a name or value that looks like a secret is refused, and not shown."""
    values: dict[str, str] = {}
    for name in names:
        if not _NAME.fullmatch(name):
            raise InputError("--env: it takes the names of variables that are set here, without values.")
        if name.startswith("RAY_"):
            raise InputError(f"--env: {name} is Ray's own, and the cluster sets it.")
        value = os.environ.get(name)
        if value is None:
            raise InputError(f"--env: {name} is not set here.")
        if _SECRET.search(name) or _LOGIN.search(value):
            raise InputError(
                f"--env: {name} looks like a secret, and the dashboard would show it; let the cluster supply it (an "
                "instance role, a Kubernetes secret or the environment of its nodes)."
            )
        values[name] = value
    return values
