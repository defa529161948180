"""Small pictures in every kind of source."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from operators import validate
from pipelines import cli
from pipelines.manifest import BuildSettings, build_manifest

SIDE = 8


def pixels(number, side=SIDE):
    return np.random.default_rng(number).integers(0, 256, (side, side, 3), dtype=np.uint8)


def png(number, side=SIDE):
    buffer = io.BytesIO()
    Image.fromarray(pixels(number, side)).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture
def make_table(tmp_path):
    """Write a Parquet file of so many pictures, with any other columns."""

    def make(count=5, name="source.parquet", images=None, **columns):
        images = [png(number) for number in range(count)] if images is None else images
        columns = {"id": [f"img-{number}" for number in range(count)], "image": images} | columns
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({key: value for key, value in columns.items() if value is not None}), path)
        return str(path)

    return make


@pytest.fixture
def build(tmp_path):
    """Build with settings as keywords; blurs nothing and adds noise unless told otherwise."""

    def make(source, out=None, overwrite=False, **settings):
        if "tasks" not in settings:
            settings.setdefault("operator", "identity")
        chosen = validate(BuildSettings, {"source": str(source), **settings}, where="manifest build")
        return build_manifest(chosen, str(out or tmp_path / "manifest"), overwrite=overwrite)

    return make


@pytest.fixture
def g2d2(capsys):
    """Run the command; returns exit code, stdout and stderr."""

    def run(*words):
        code = cli.main(["manifest", *map(str, words)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
