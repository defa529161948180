"""What README and docs/ show works: complete examples run as they stand, and every command shown is one that exists."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
WALKS = ["your-images.md", "adding-a-solver.md"]
"""Pages that a reader can follow from top to bottom in an empty folder."""


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("page", ["adding-an-operator.md", "adding-a-prior.md", "metrics.md"])
def test_examples_run(page, tmp_path):
    found = blocks(DOCS / page, "python")
    assert found
    script = tmp_path / "example.py"
    script.write_text("\n".join(found))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("page", WALKS)
def test_walks_reach_their_end(page, tmp_path):
    lines = ["set -e"]
    for language, content in re.findall(r"```(sh|yaml|python)\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL):
        named = re.match(r"# (\S+\.\w+)\n", content)
        if named:
            (tmp_path / named[1]).write_text(content)
        elif language == "sh":
            lines.append(content)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def commands(page):
    """Every `g2d2 ...` line of the shell blocks, joined where continued, without pipes, comments and variables."""
    for block in blocks(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r" [|>] | && |; ", line.split(" #")[0]):
                found = re.match(r"(?:\w+=\S+ +)*(?:\.venv/bin/)?g2d2 (.*)", part.strip())
                if found and "<<" not in part and "$" not in found[1]:
                    yield shlex.split(found[1])


@pytest.fixture(scope="module")
def parser():
    return cli.build_parser(cli.COMMANDS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_shown_are_accepted(page, parser, capsys):
    for words in commands(page):
        assert accepted(parser, words), f"{page.name}: g2d2 {shlex.join(words)}: {capsys.readouterr().err}"
        for word in words:
            if word.startswith("examples/") and "*" not in word:
                assert (ROOT / word).exists(), f"{page.name}: g2d2 {shlex.join(words)}: there is no {word}"


def accepted(parser, words):
    try:
        parser.parse_args(words)
    except SystemExit as stop:
        return stop.code == 0
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:", target):
            continue
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        assert place.exists(), f"{page.name} links to {target}"
        if anchor and place.suffix == ".md":
            assert anchor in anchors(place), f"{page.name} links to {target}"


def anchors(page):
    """Headings as GitHub names them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
