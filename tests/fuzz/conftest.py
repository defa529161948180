"""Where fuzz tests run: a folder and a home of their own, no way out to a network, a tiny prior and manifest."""

import pytest

from tests.pipelines.sweep_cases import build_manifest


@pytest.fixture(autouse=True)
def secluded(tmp_path, monkeypatch):
    """Whatever a spoiled path means, it lies here; whatever is asked of a network is refused at once."""
    import huggingface_hub.constants

    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "MLFLOW_HOME", "HF_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for name, value in {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


@pytest.fixture(scope="session")
def manifest(tmp_path_factory):
    """Three 8x8 pictures under one blur."""
    return build_manifest(tmp_path_factory.mktemp("fuzz"), pictures=3)
