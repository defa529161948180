"""Posting a summary: to a real server on this machine, and never a word of its URL."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from pipelines.nightly import webhook

VARIABLE = "G2D2_TEST_WEBHOOK"


@pytest.fixture
def server(monkeypatch):
    """Answers with the codes in `answers`, one by one, then 200; keeps what it got."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.server.got.append((self.path, self.headers["Content-Type"], json.loads(body)))
            self.send_response(self.server.answers.pop(0) if self.server.answers else 200)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
            self.end_headers()

        def log_message(self, *_):
            pass

    made = HTTPServer(("127.0.0.1", 0), Handler)
    made.got, made.answers = [], []
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv(VARIABLE, f"http://127.0.0.1:{made.server_port}/services/SECRET")
    monkeypatch.setattr(webhook, "_PAUSE", 0.01)
    yield made
    made.shutdown()
    made.server_close()


def test_it_posts_json(server):
    assert webhook.post(VARIABLE, {"text": "passed"}) is None
    assert server.got == [("/services/SECRET", "application/json", {"text": "passed"})]


def test_a_server_in_trouble_is_asked_again_but_not_for_ever(server):
    server.answers += [503, 429]
    assert webhook.post(VARIABLE, {}) is None
    assert len(server.got) == 3
    server.answers += [500] * 9
    assert webhook.post(VARIABLE, {}) == "webhook: the server answered 500; the summary was not posted"
    assert len(server.got) == 3 + webhook.TRIES


@pytest.mark.parametrize("code", [404, 307, 302])
def test_a_refusal_or_a_redirect_ends_it(server, code):
    server.answers.append(code)
    assert webhook.post(VARIABLE, {}) == f"webhook: the server answered {code}; the summary was not posted"
    assert len(server.got) == 1


def test_no_sentence_holds_the_url(server, monkeypatch):
    server.shutdown()
    server.server_close()
    assert webhook.post(VARIABLE, {}) == "webhook: no answer (ConnectionRefusedError); the summary was not posted"
    for url in ("ftp://host/SECRET", "SECRET", "http://ho st:x/SECRET", "http://[SECRET"):
        monkeypatch.setenv(VARIABLE, url)
        assert "SECRET" not in webhook.post(VARIABLE, {})
    monkeypatch.delenv(VARIABLE)
    assert webhook.post(VARIABLE, {}) == f"webhook: {VARIABLE} is not set; nothing was posted"
