"""Small pictures in every mode and format, and measurements in odd shapes and kinds."""

import io

import numpy as np
from hypothesis import strategies as st
from PIL import Image

from tests.fuzz.mutations import spoiled_bytes

FORMATS = {
    "png": ("RGB", "RGBA", "L", "LA", "P", "1", "I;16"),
    "jpg": ("RGB", "L", "CMYK"),
    "gif": ("RGB", "L", "P"),
    "tif": ("RGB", "RGBA", "L", "F", "I", "I;16", "CMYK"),
    "bmp": ("RGB", "L", "1"),
    "webp": ("RGB", "RGBA"),
    "ppm": ("RGB", "L"),
}
OPERATOR = ["--operator", "gaussian_blur", "--set", "kernel_size=5", "std=0.8"]
"""What fits pictures of 8x8."""


def picture(mode="RGB", size=(8, 8), ending="png"):
    """An encoded picture."""
    pixels = np.random.default_rng(0).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    deep = {"I;16": np.uint16, "I": np.int32}.get(mode)
    image = (
        Image.fromarray(pixels).convert(mode) if deep is None else Image.fromarray(pixels[..., 0].astype(deep) * 257)
    )
    buffer = io.BytesIO()
    image.save(buffer, {"jpg": "JPEG", "tif": "TIFF"}.get(ending, ending.upper()))
    return buffer.getvalue()


@st.composite
def pictures(draw):
    """Ending and bytes of a file that may be a picture."""
    ending = draw(st.sampled_from(sorted(FORMATS)))
    mode = draw(st.sampled_from(FORMATS[ending]))
    size = draw(st.sampled_from([(8, 8), (8, 8), (8, 9), (1, 1), (16, 16), (4000, 1)]))
    content = picture(mode, size, ending)
    if draw(st.integers(0, 3)):
        content = draw(spoiled_bytes(content))
    return draw(st.sampled_from([ending] * 9 + ["png"])), content


@st.composite
def measurements(draw):
    """Bytes of a file that may be a measurement."""
    shape = draw(st.sampled_from([(3, 8, 8), (3, 8, 8), (8, 8, 3), (1, 3, 8, 8), (192,), (), (0,), (3, 8, 9)]))
    kind = draw(st.sampled_from(["f4", "f4", "f8", "f2", ">f4", "i8", "u1", "?", "c8", "U3", "S3", "O", "M8[s]"]))
    numbers = [0.0, 0.5, 1e30, 3e38, float("nan"), float("inf")] if kind.startswith("f") else [0, 1, 2**31]
    with np.errstate(all="ignore"):
        array = np.full(shape, draw(st.sampled_from(numbers))).astype(kind)
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return draw(spoiled_bytes(buffer.getvalue())) if draw(st.booleans()) else buffer.getvalue()
