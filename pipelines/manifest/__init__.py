"""Manifests: what was measured, stored once, so that every method and every rerun sees the same noise."""

from pipelines.manifest.building import Built, NothingBuiltError, build_manifest
from pipelines.manifest.checking import check_manifest
from pipelines.manifest.reading import Manifest, read_row
from pipelines.manifest.rows import build_row_operator, decode_truth, measurement
from pipelines.manifest.schema import FORMAT_VERSION, SCHEMA
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
    "check_manifest",
    "decode_truth",
    "measurement",
    "read_row",
]
