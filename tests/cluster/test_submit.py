"""What `g2d2 submit` decides before and after a cluster is asked: package, paths, attempts, variables, log and end."""

import asyncio
import json
import os
import socket
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from cluster.jobs import Dashboard, Job, UnknownJobError, UnreachableError, exit_code, find_job, follow
from cluster.jobs import package as packaging
from cluster.jobs.connection import dashboard_url
from cluster.jobs.following import Patience
from cluster.jobs.known_jobs import OUTPUT, SPECIFICATION, look_up
from cluster.jobs.package import contents, place_included, write_package
from cluster.jobs.project import PROJECT, project_sources
from cluster.jobs.reach import LocalPath, check_reach
from cluster.jobs.variables import passed_on
from cluster.ray_token import token
from operators import InputError
from pipelines.cli import main
from pipelines.commands.submit import command
from tests.pipelines.sweep_cases import build_manifest, specification, write_spec


def job(job_id="g2d2-a-1", state="RUNNING", code=None, started=0, **metadata):
    return Job(job_id, state, code, "", metadata, started)


class TestVariables:
    def test_plain_ones_are_passed_on(self, monkeypatch):
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        assert passed_on(["HF_HUB_OFFLINE"]) == {"HF_HUB_OFFLINE": "1"}

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("AWS_SECRET_ACCESS_KEY", "hush"),
            ("AWS_ACCESS_KEY_ID", "hush"),
            ("HF_TOKEN", "hush"),
            ("MLFLOW_TRACKING_PASSWORD", "hush"),
            ("MLFLOW_TRACKING_URI", "http://me:hush@host"),
        ],
    )
    def test_secrets_are_refused_and_not_shown(self, name, value, monkeypatch):
        monkeypatch.setenv(name, value)
        with pytest.raises(InputError, match=f"--env: {name} looks like a secret") as caught:
            passed_on([name])
        assert "hush" not in str(caught.value)

    @pytest.mark.parametrize(
        ("name", "said"), [("RAY_ADDRESS", "Ray's own"), ("NOT_SET_1", "is not set here"), ("A=b", "without values")]
    )
    def test_what_cannot_be_passed_on(self, name, said):
        with pytest.raises(InputError, match=said):
            passed_on([name])


class TestAddress:
    def test_the_option_then_the_variables(self, monkeypatch):
        monkeypatch.setenv("RAY_API_SERVER_ADDRESS", "http://other:1")
        monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
        assert dashboard_url("head:8265") == "http://head:8265"
        assert dashboard_url("https://head/ray/") == "https://head/ray"
        assert dashboard_url(None) == "http://other:1"
        monkeypatch.delenv("RAY_API_SERVER_ADDRESS")
        with pytest.raises(InputError, match="give the dashboard of the cluster"):
            dashboard_url(None)

    @pytest.mark.parametrize("address", ["ray://head:10001", "http://me:hush@head:8265", "http://"])
    def test_what_is_no_dashboard(self, address):
        with pytest.raises(InputError, match="is not a dashboard") as caught:
            dashboard_url(address)
        assert "hush" not in str(caught.value)

    def test_the_token_is_where_ray_keeps_it(self, tmp_path, monkeypatch):
        for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / ".ray").mkdir()
        (tmp_path / ".ray" / "auth_token").write_text("home\n")
        (tmp_path / "file").write_text("path\n")
        assert token() is None  # the home's token goes to nobody unasked
        monkeypatch.setenv("RAY_AUTH_MODE", "token")
        assert token() == "home"
        monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "file"))
        assert token() == "path"
        monkeypatch.setenv("RAY_AUTH_TOKEN", "variable")
        assert token() == "variable"
        monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
        assert token() is None

    def test_a_token_file_that_cannot_be_read_is_named(self, tmp_path, monkeypatch):
        for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "none"))
        with pytest.raises(InputError, match=r"RAY_AUTH_TOKEN_PATH: .*none cannot be read"):
            token()


class TestPackage:
    def test_code_and_the_embedded_prior_travel_and_nothing_else(self):
        files = contents(project_sources())
        assert {"pipelines/cli.py", "operators/__init__.py", "eval/metrics/__init__.py"} <= set(files)
        assert any(name.startswith("g2d2/priors/embedded/") and name.endswith(".safetensors") for name in files)
        assert {name.partition("/")[0] for name in files} == set(PROJECT)
        assert not any("__pycache__" in name or "/." in name for name in files)

    def test_what_the_head_runs(self):
        assert command("small.yaml", installed=True, retry_failed=False) == ["g2d2", "sweep", "small.yaml"]
        retried = command("small.yaml", installed=False, retry_failed=True)
        assert " ".join(retried) == "python -m pipelines.cli sweep small.yaml --retry-failed"

    def test_equal_content_gives_equal_bytes(self, tmp_path):
        source = tmp_path / "data"
        source.mkdir()
        (source / "a").write_text("1")
        write_package(tmp_path / "1.zip", {"s.yaml": "x"}, contents({"data": source}))
        os.utime(source / "a", (1, 1))
        write_package(tmp_path / "2.zip", {"s.yaml": "x"}, contents({"data": source}))
        assert (tmp_path / "1.zip").read_bytes() == (tmp_path / "2.zip").read_bytes()
        assert zipfile.ZipFile(tmp_path / "1.zip").namelist() == ["s.yaml", "data/a"]

    def test_what_is_included_lies_where_it_lay(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for name in ("in/side/a.txt", "in/side/.env", "in/side/.git/config"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("x")
        assert set(contents(place_included([tmp_path / "in" / "side"]))) == {"in/side/a.txt"}

    @pytest.mark.parametrize(("name", "said"), [("nothing", "does not exist"), ("pipelines", "take the place of")])
    def test_what_cannot_be_included(self, name, said, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "pipelines").mkdir()
        with pytest.raises(InputError, match=said):
            place_included([tmp_path / name])

    def test_what_is_included_cannot_replace_the_specification(self, tmp_path):
        (tmp_path / "s.yaml").write_text("x")
        with pytest.raises(InputError, match=r"would take the place of 's\.yaml'"):
            write_package(tmp_path / "p.zip", {"s.yaml": "y"}, contents({"s.yaml": tmp_path / "s.yaml"}))

    def test_too_large_a_package_is_refused_by_the_names_of_its_largest_files(self, tmp_path, monkeypatch):
        monkeypatch.setattr(packaging, "LIMIT", 2**20)
        source = tmp_path / "data"
        source.mkdir()
        (source / "large.bin").write_bytes(os.urandom(2 * 2**20))
        (source / "zeros.bin").write_bytes(bytes(9 * 2**20))
        with pytest.raises(
            InputError, match=r"it has 2 MiB and Ray takes less than 1; the largest are data/large\.bin"
        ):
            write_package(tmp_path / "p.zip", {}, contents({"data": source}))


class Machines:
    """A dashboard of a cluster of these machines."""

    url = "http://head"

    def __init__(self, *names):
        self.names, self.asked = set(names), 0

    def hosts(self):
        self.asked += 1
        return self.names


class TestReach:
    mine = LocalPath("output", "/here/o", "give an s3:// URL")

    def test_a_cluster_of_other_machines_cannot_see_a_path_of_this_one(self):
        here = socket.gethostname()
        check_reach([self.mine], Machines(here))
        for names in ({here, "other"}, {"other"}, set()):
            with pytest.raises(InputError, match=r"output: /here/o is a path of this machine.*; give an s3:// URL, or"):
                check_reach([self.mine], Machines(*names))

    def test_where_no_path_is_needed_nobody_is_asked(self):
        board = Machines("other")
        check_reach([], board)
        assert board.asked == 0


class TestLookingUp:
    mine: dict[str, str] = {OUTPUT: "o", SPECIFICATION: "s"}  # noqa: RUF012

    def known(self, *jobs):
        return look_up("g2d2-a-1", self.mine, jobs)

    def test_nothing_yet(self):
        assert self.known(job("g2d2-a-12", "SUCCEEDED"), job("g2d2-b-1", **{OUTPUT: "p"})).next_id == "g2d2-a-1"

    def test_running_is_attached_to(self):
        ended = job("g2d2-a-1", "FAILED", 1, **self.mine)
        running = job("g2d2-a-1-2", "PENDING", **self.mine)
        assert self.known(running, ended).running == running

    def test_success_is_not_repeated_unless_the_specification_changed(self):
        done = job(state="SUCCEEDED", code=0, **self.mine)
        assert self.known(done).done == done
        changed = self.known(job(state="SUCCEEDED", code=0, **(self.mine | {SPECIFICATION: "t"})))
        assert (changed.done, changed.next_id) == (None, "g2d2-a-1-2")

    @pytest.mark.parametrize("state", ["FAILED", "STOPPED"])
    def test_after_failure_comes_the_next_attempt(self, state):
        tenth = [job(f"g2d2-a-1-{n}", state, **self.mine) for n in (2, 9, 10)]
        assert self.known(job(state=state, **self.mine), *tenth).next_id == "g2d2-a-1-11"

    def test_other_work_into_the_same_output_is_refused(self):
        with pytest.raises(InputError, match="job g2d2-b-1 is writing other work to o"):
            self.known(job("g2d2-b-1", **self.mine))
        assert self.known(job("g2d2-b-1", "STOPPED", **self.mine)).next_id == "g2d2-a-1"

    def test_the_job_of_an_output_is_the_one_that_runs_else_the_last(self):
        first, second = job("a", started=1, **self.mine), job("b", "FAILED", started=2, **self.mine)
        assert find_job([first, second], "o") == first
        assert find_job([second], "o") == second
        assert find_job([second], "p") is None


class Script:
    """A dashboard that plays scenes: each connection tells the log from its start, up to a point, and then acts."""

    def __init__(self, log, *scenes):
        self.log, self.scenes, self.connections = log, list(scenes), 0
        self.away = 0

    async def tail(self, job_id):
        self.connections += 1
        upto, then = self.scenes.pop(0) if self.scenes else (len(self.log), "end")
        for start in range(0, upto, 7):
            yield self.log[start : min(start + 7, upto)]
        if then == "break":
            self.away = 2
            raise UnreachableError("gone")
        if then == "hang":
            await asyncio.sleep(60)

    def job(self, job_id):
        if self.away:
            self.away -= 1
            raise UnreachableError("gone")
        return job(job_id, "RUNNING") if self.scenes else job(job_id, "FAILED", 3)

    def logs(self, job_id):
        return self.log


class TestFollowing:
    quick = Patience(silent=0.2, away=5, first_wait=0.01, longest_wait=0.02)
    log = "".join(f"line {number}\n" for number in range(30))

    @pytest.mark.parametrize("then", ["break", "hang", "end"])
    def test_a_connection_that_ends_early_is_made_again(self, then):
        board, heard = Script(self.log, (40, then), (0, then), (33, then), (100, then)), []
        ended = follow(board, "j", heard.append, self.quick)
        assert "".join(heard) == self.log
        assert exit_code(ended) == 3
        assert board.connections >= 4

    def test_a_dashboard_that_stays_away_is_given_up(self):
        board = Script(self.log, (40, "break"))
        board.job = lambda job_id: (_ for _ in ()).throw(UnreachableError("gone"))
        with pytest.raises(UnreachableError, match=r"job j: nothing was heard of it for .* attaches again"):
            follow(board, "j", print, Patience(silent=1, away=0.1, first_wait=0.01))

    def test_a_log_whose_end_cannot_be_read_does_not_hide_the_exit_code(self, capsys):
        board, heard = Script(self.log, (40, "end")), []
        board.logs = lambda job_id: (_ for _ in ()).throw(UnreachableError("gone"))
        assert exit_code(follow(board, "j", heard.append, Patience(away=0, first_wait=0.01))) == 3
        assert "".join(heard) == self.log[:40]
        assert capsys.readouterr().err == "job j: it has ended, and the end of its log cannot be read (gone)\n"

    def test_a_job_the_cluster_forgot_is_an_error(self):
        board = Script(self.log)
        board.job = lambda job_id: (_ for _ in ()).throw(UnknownJobError("job: j does not exist."))
        with pytest.raises(UnknownJobError):
            follow(board, "j", print, self.quick)

    @pytest.mark.parametrize(
        ("state", "code", "expected"),
        [
            ("SUCCEEDED", 0, 0),
            ("FAILED", 1, 1),
            ("FAILED", 2, 2),
            ("FAILED", -9, 137),
            ("FAILED", None, 2),
            ("STOPPED", None, 130),
        ],
    )
    def test_exit_codes(self, state, code, expected):
        assert exit_code(job(state=state, code=code)) == expected


class Answer(BaseHTTPRequestHandler):
    status: int
    body: bytes

    def do_GET(self):
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *words):
        pass


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, b"<html>not Ray</html>", "does not answer as a Ray dashboard"),
        (200, b"{}", "does not answer as a Ray dashboard"),
        (200, b"[]", "does not answer as a Ray dashboard"),
        (500, b"", "does not answer"),
        (401, b"", r"asks for a token.*`export RAY_AUTH_MODE=token` to use ~/\.ray/auth_token"),
        (403, b"", "asks for a token"),
    ],
)
def test_what_a_server_that_is_no_dashboard_answers(status, body, said, monkeypatch):
    monkeypatch.setenv("RAY_API_SERVER_ADDRESS", "")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "hush-hush")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    handler = type("Handler", (Answer,), {"status": status, "body": body})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(InputError, match=said) as caught:
            Dashboard(f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
    assert "hush-hush" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_bad_specification_never_reaches_a_cluster(tmp_path, capsys):
    path = write_spec(tmp_path / "spec.yaml", specification("m", "cifar10", "o", seeds=[1, 1]))
    assert main(["submit", str(path), "--address", "http://127.0.0.1:9"]) == 2
    assert "seeds" in capsys.readouterr().err


def test_an_address_where_nobody_listens(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RAY_API_SERVER_ADDRESS", "")
    path = write_spec(tmp_path / "spec.yaml", specification("m", "cifar10", "o"))
    assert main(["submit", str(path), "--address", "http://127.0.0.1:9"]) == 2
    assert "http://127.0.0.1:9 does not answer as a Ray dashboard" in capsys.readouterr().err
    assert main(["status", str(path), "--address", "http://127.0.0.1:9"]) == 2


@pytest.fixture
def dashboard(monkeypatch):
    """The address of a cluster of this machine alone, without jobs."""
    monkeypatch.setenv("RAY_API_SERVER_ADDRESS", "")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    class Idle(Answer):
        status = 200

        def do_GET(self):
            here = {"ray_version": "2.60.0", "data": {"hostNameList": [socket.gethostname()]}}
            self.body = json.dumps([] if self.path.startswith("/api/jobs") else here).encode()
            super().do_GET()

    with ThreadingHTTPServer(("127.0.0.1", 0), Idle) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("installed", [[], ["--installed"]])
def test_a_module_that_cannot_be_found_is_refused_in_a_sentence(installed, dashboard, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    values = specification(build_manifest(tmp_path, pictures=1), "no_such_module_1:Mine", tmp_path / "o")
    spec = write_spec(tmp_path / "spec.yaml", values)
    capsys.readouterr()
    assert main(["submit", str(spec), "--address", dashboard, *installed]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("g2d2 submit: prior: the module 'no_such_module_1' cannot be found on Python's path")


def test_a_dashboard_that_has_just_started_is_asked_again_for_its_machines(monkeypatch):
    monkeypatch.setenv("RAY_API_SERVER_ADDRESS", "")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    known = [[], ["me", "other"]]

    class Young(Answer):
        status = 200

        def do_GET(self):
            names = known.pop(0) if self.path.startswith("/nodes") else []
            self.body = json.dumps({"ray_version": "2.60.0", "data": {"hostNameList": names}}).encode()
            super().do_GET()

    with ThreadingHTTPServer(("127.0.0.1", 0), Young) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert Dashboard(f"http://127.0.0.1:{server.server_port}").hosts() == {"me", "other"}
        server.shutdown()
