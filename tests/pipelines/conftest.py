"""What tests of the pipeline share."""

import pytest

from tests.pipelines.sweep_cases import build_manifest


@pytest.fixture(scope="session")
def small_manifest(tmp_path_factory):
    return build_manifest(tmp_path_factory.mktemp("small"))
