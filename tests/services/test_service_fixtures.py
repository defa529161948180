"""The servers the tests share are real, and come back after an outage with port, keys and data."""

import os

import pytest

psycopg2 = pytest.importorskip("psycopg2")


def rows(server, statement):
    connection = psycopg2.connect(host=str(server.home), user="g2d2", dbname="g2d2")
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []
    finally:
        connection.close()


def test_postgres_keeps_its_data_through_a_restart(postgres_server):
    rows(postgres_server, "CREATE TABLE kept (x integer)")
    rows(postgres_server, "INSERT INTO kept VALUES (7)")
    postgres_server.stop()
    try:
        assert not postgres_server.running
        with pytest.raises(psycopg2.OperationalError):
            rows(postgres_server, "SELECT 1")
    finally:
        postgres_server.start()
    assert rows(postgres_server, "SELECT x FROM kept") == [(7,)]


def test_postgres_can_be_reached_by_its_owner_only(postgres_server):
    assert rows(postgres_server, "SHOW listen_addresses") == [("",)]
    assert os.stat(postgres_server.home).st_mode & 0o077 == 0
    assert os.stat(postgres_server.home / "data").st_mode & 0o077 == 0


@pytest.mark.slow
def test_mlflow_keeps_runs_and_artifacts_through_a_restart(mlflow_server):
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=mlflow_server.uri)
    run = client.create_run(client.create_experiment("fixtures"))
    client.log_metric(run.info.run_id, "psnr", 23.5)
    client.log_text(run.info.run_id, "kept", "note.txt")
    uri = mlflow_server.uri
    mlflow_server.stop()
    try:
        assert not mlflow_server.is_ready()
    finally:
        mlflow_server.start()
    assert mlflow_server.uri == uri
    assert client.get_run(run.info.run_id).data.metrics == {"psnr": 23.5}
    assert [file.path for file in client.list_artifacts(run.info.run_id)] == ["note.txt"]


@pytest.mark.slow
def test_mlflow_serves_this_machine_and_refuses_other_names(mlflow_server):
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    url = f"{mlflow_server.uri}/api/2.0/mlflow/experiments/search?max_results=1"
    for host in ("localhost", "127.0.0.1:1"):
        with urlopen(Request(url, headers={"Host": host}), timeout=30) as answer:
            assert answer.status == 200
    with pytest.raises(HTTPError, match="403"):
        urlopen(Request(url, headers={"Host": "elsewhere.example"}), timeout=30)
