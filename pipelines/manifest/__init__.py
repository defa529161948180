"""Manifests: what was measured, stored once, so that every method and every rerun sees the same noise.

The names below load on first use: reading what is stored needs no torch.
"""

from typing import TYPE_CHECKING

from operators.on_first_use import on_first_use

if TYPE_CHECKING:
    from pipelines.manifest.building import Built, NothingBuiltError, build_manifest, write_manifest
    from pipelines.manifest.manifest_check import check_manifest
    from pipelines.manifest.measuring import SourceRow
    from pipelines.manifest.reading import Manifest, read_row
    from pipelines.manifest.schema import FORMAT_VERSION, SCHEMA, check_content, content_digest
    from pipelines.manifest.settings import BuildSettings
    from pipelines.manifest.stored_rows import build_row_operator, decode_truth, measurement, row_signal

__all__ = [
    "FORMAT_VERSION",
    "SCHEMA",
    "BuildSettings",
    "Built",
    "Manifest",
    "NothingBuiltError",
    "SourceRow",
    "build_manifest",
    "build_row_operator",
    "check_content",
    "check_manifest",
    "content_digest",
    "decode_truth",
    "measurement",
    "read_row",
    "row_signal",
    "write_manifest",
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
        "SourceRow": "measuring",
        "build_manifest": "building",
        "build_row_operator": "stored_rows",
        "check_content": "schema",
        "check_manifest": "manifest_check",
        "content_digest": "schema",
        "decode_truth": "stored_rows",
        "measurement": "stored_rows",
        "read_row": "reading",
        "row_signal": "stored_rows",
        "write_manifest": "building",
    },
)
