"""Manifests: what was measured, stored once, so that every method and every rerun sees the same noise.

The names below load on first use: reading what is stored needs no torch.
"""

from typing import TYPE_CHECKING

from operators.on_first_use import on_first_use

if TYPE_CHECKING:
    from pipelines.manifest.building import Built, NothingBuiltError, build_manifest
    from pipelines.manifest.checking import check_manifest
    from pipelines.manifest.reading import Manifest, read_row
    from pipelines.manifest.rows import build_row_operator, decode_truth, measurement
    from pipelines.manifest.schema import FORMAT_VERSION, SCHEMA, check_content, content_digest
    from pipelines.manifest.settings import BuildSettings

__all__ = [
    "FORMAT_VERSION",
    "SCHEMA",
    "BuildSettings",
    "Built",
    "Manifest",
    "NothingBuiltError",
    "build_manifest",
    "build_row_operator",
    "check_content",
    "check_manifest",
    "content_digest",
    "decode_truth",
    "measurement",
    "read_row",
]

__getattr__ = on_first_use(
    __name__,
    {
        "BuildSettings": "settings",
        "Built": "building",
        "FORMAT_VERSION": "schema",
        "Manifest": "reading",
        "NothingBuiltError": "building",
        "SCHEMA": "schema",
        "build_manifest": "building",
        "build_row_operator": "rows",
        "check_content": "schema",
        "check_manifest": "checking",
        "content_digest": "schema",
        "decode_truth": "rows",
        "measurement": "rows",
        "read_row": "reading",
    },
)
