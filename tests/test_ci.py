"""What .ci/run promises: it asks for a browser first, no test of the page is skipped, the tests that it names exist."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "tests" / "eval" / "report" / "test_report_browser.py"


@pytest.fixture
def bare(tmp_path):
    """A PATH on which bash finds its way about, and neither a browser nor apt-get is."""
    for program in ("bash", "dirname"):
        (tmp_path / program).symlink_to(shutil.which(program))
    return {**os.environ, "PATH": str(tmp_path)}


def run(words, environment):
    return subprocess.run(words, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=300)


def test_a_machine_without_browser_and_apt_is_told_so_at_once(bare):
    done = run([ROOT / ".ci" / "run"], bare)
    assert done.returncode == 1
    assert "no Chromium on PATH" in done.stderr
    assert "make" not in done.stderr


def test_what_apt_installs_is_used(bare, tmp_path):
    apt = tmp_path / "apt-get"
    apt.write_text(f'#!{shutil.which("bash")}\n[ "$1" = update ] || {shutil.which("cp")} "$0" "{tmp_path}/chromium"\n')
    apt.chmod(0o755)
    done = run([ROOT / ".ci" / "run"], bare)
    assert "make" in done.stderr, "it went on past the browser, to a program that is not on this PATH"
    assert "Chromium" not in done.stderr


def test_without_a_browser_its_tests_fail_where_it_is_required(bare):
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", PAGE]
    done = run(words, bare | {"G2D2_BROWSER": "required"})
    assert done.returncode == 1, done.stdout
    assert "no Chromium is on PATH" in done.stdout


def test_every_test_it_names_is_there():
    words = shlex.split((ROOT / ".ci" / "run").read_text().partition("-m pytest -q")[2])
    named = [word for word in words if word.startswith("tests/")]
    assert len(named) > 10
    done = run([sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *named], os.environ)
    assert done.returncode == 0, done.stdout


def test_every_file_of_tests_that_a_page_names_is_there():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md"), ROOT / "Makefile"]
    named = {(page.name, path) for page in pages for path in re.findall(r"tests/[\w/]+\.py", page.read_text())}
    assert named
    assert [place for place in named if not (ROOT / place[1]).exists()] == []
