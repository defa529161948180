"""`g2d2 nightly` where nothing has to be solved: words, refusals, what a chat hears of a night that could not run."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import yaml

from pipelines.nightly import NightlyFolder
from tests.pipelines.nightly.night_cases import level, night, score_table
from tests.pipelines.sweep_cases import run

VARIABLE = "G2D2_TEST_WEBHOOK"


@pytest.fixture
def path(tmp_path):
    sweep = {"manifest": str(tmp_path / "none"), "prior": "cifar10", "tracking": {"enabled": False}}
    values = {"name": "n", "output": str(tmp_path / "o"), "sweep": sweep, "webhook": VARIABLE}
    (tmp_path / "n.yaml").write_text(yaml.safe_dump(values))
    return tmp_path / "n.yaml"


def test_help_has_examples_of_all_three(capsys):
    with pytest.raises(SystemExit):
        run("nightly", "--help")
    text = capsys.readouterr().out
    for words in ("g2d2 nightly examples", "g2d2 nightly accept examples", "g2d2 nightly history examples"):
        assert words in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("accept",), "'accept' is not one SPEC"),
        (("accept", "SPEC", "SPEC"), "is not one SPEC"),
        (("accept", "SPEC"), "--reason is missing"),
        (("accept", "SPEC", "--reason", "x"), "no night has run"),
        (("accept", "SPEC", "--reason", "x", "--new"), "--new: it does not go with 'accept'"),
        (("SPEC", "--reason", "x"), "--reason: it does not go with 'run'"),
        (("SPEC", "--night", "../up"), "it must be letters"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_exit_2(words, said, path, capsys, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert run("nightly", *(path if word == "SPEC" else word for word in words)) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert said in lines[-1]
    assert lines[:-1] in ([], [f"warning: webhook: {VARIABLE} is not set; nothing was posted"])


def test_a_night_that_could_not_run_is_told_to_the_chat(path, capsys, monkeypatch):
    got = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv(VARIABLE, f"http://127.0.0.1:{server.server_port}/SECRET")
    try:
        assert run("nightly", path, "--night", "a") == 2
    finally:
        server.shutdown()
        server.server_close()
    assert got[0]["exit_code"] == 2
    assert got[0]["text"].startswith("nightly n, night a: could not run: manifest ")
    assert "SECRET" not in "".join(capsys.readouterr())


def test_an_output_belongs_to_one_evaluation(path, tmp_path, capsys):
    NightlyFolder(str(tmp_path / "o"), "other").write_night(night("a", {}, name="other"), score_table())
    assert run("nightly", path) == 2
    assert "it holds nights of other; give n an output of its own" in capsys.readouterr().err


def test_history_for_people_and_programs(path, tmp_path, capsys):
    assert run("nightly", "history", path) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "no baseline is accepted yet"
    NightlyFolder(str(tmp_path / "o"), "n").write_night(night("a", {"psnr": level(20)}), score_table())
    assert run("nightly", "accept", path, "--reason", "first", "--by", "ada", "--json") == 0
    assert json.loads(capsys.readouterr().out)["number"] == 1
    assert run("nightly", "history", path, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert [entry["night"] for entry in facts["nights"]] == ["a"]
    assert facts["baselines"][0]["reason"] == "first"


def test_status_of_an_evaluation_names_its_nights(quick, tmp_path, capsys):
    _, one = quick
    one("a")
    one("b")
    assert run("status", tmp_path / "out") == 2
    said = capsys.readouterr().err
    night_folder = tmp_path / "out" / "nights" / "b"
    assert f"it holds the nights a, b; ask for one, as `g2d2 status {night_folder}`" in said
    assert run("status", night_folder) == 0
