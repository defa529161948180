"""Pictures small enough to be part of a page."""

import base64
import io

from PIL import Image

LONGEST_SIDE = 256
_SMALL = 6000


def thumbnail(content: bytes) -> bytes:
    """A small PNG as it is; a larger picture as WebP of at most `LONGEST_SIDE` pixels."""
    with Image.open(io.BytesIO(content)) as picture:
        if picture.format == "PNG" and len(content) <= _SMALL and max(picture.size) <= LONGEST_SIDE:
            return content
        small = picture.convert("RGB")
    small.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, format="WEBP", quality=82, method=4)
    return buffer.getvalue()


def data_uri(content: bytes) -> str:
    """The picture as an address that needs no network."""
    kind = "png" if content.startswith(b"\x89PNG") else "webp"
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
