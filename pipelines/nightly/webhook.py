"""Tell a chat how the night went. The URL is a secret: it comes from the environment and is never shown."""

import json
import os
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any

TRIES = 3
SECONDS = 10.0
"""To wait for an answer, each time."""
_PAUSE = 1.0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would send the summary, and a part of the secret, elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


def post(variable: str, content: dict[str, Any]) -> str | None:
    """Post JSON to the URL in this environment variable; None when it was taken, else why not, without the URL."""
    url = os.environ.get(variable, "")
    if not url.startswith(("http://", "https://")):
        said = "holds no http(s) URL" if url else "is not set"
        return f"webhook: {variable} {said}; nothing was posted"
    data, headers = json.dumps(content).encode(), {"Content-Type": "application/json", "User-Agent": "g2d2"}
    opener = urllib.request.build_opener(_NoRedirect)
    for attempt in range(TRIES):
        if attempt:
            time.sleep(_PAUSE * 2 ** (attempt - 1))
        try:
            with opener.open(urllib.request.Request(url, data, headers), timeout=SECONDS):
                return None
        except urllib.error.HTTPError as error:
            said = f"the server answered {error.code}"
            if error.code < 500 and error.code not in (408, 429):
                break
        except (OSError, HTTPException, ValueError) as error:  # their messages may hold the URL
            reason = getattr(error, "reason", error)
            said = f"no answer ({type(reason).__name__})"
    return f"webhook: {said}; the summary was not posted"
