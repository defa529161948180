"""What README and docs/ show works: complete examples run as they stand, and every command shown is one that exists."""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "SECURITY.md")),
    *sorted(DOCS.glob("*.md")),
    *sorted(page for folder in ("examples", "cluster") for page in (ROOT / folder).rglob("README.md")),
]
CODE = ("operators", "g2d2", "eval", "pipelines", "cluster")


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("page", ["adding-an-operator.md", "adding-a-prior.md", "metrics.md"])
def test_examples_run(page, tmp_path):
    """Blocks that name a file become that file, and are imported; the others run one after the other."""
    shown = blocks(DOCS / page, "python")
    assert shown
    lines = []
    for content in shown:
        named = re.match(r"# (\w+)\.py\n", content)
        if named:
            (tmp_path / f"{named[1]}.py").write_text(content)
        lines.append(f"import {named[1]}" if named else content)
    script = tmp_path / "example.py"
    script.write_text("\n".join(lines))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_example_of_the_readme_runs_at_the_size_of_the_embedded_prior(tmp_path):
    (code,) = blocks(ROOT / "README.md", "python")
    smaller = {
        'load_prior("ithq", device="cuda", dtype="float16")': 'load_prior("cifar10")',  # weights of a hub, and a GPU
        'TASKS["sr4-256"]': 'TASKS["sr4-32"]',
        "256, 256": "32, 32",
        "eta_kl=eta)": "eta_kl=eta, steps=3, iterations=2)",
    }
    for shown, run in smaller.items():
        assert shown in code
        code = code.replace(shown, run)
    script = tmp_path / "example.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_readme_shows_the_specification_of_its_tour():
    (shown,) = blocks(ROOT / "README.md", "yaml")
    assert (ROOT / "examples" / "tour.yaml").read_text().endswith(shown.removeprefix("# examples/tour.yaml"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_fences_around_commands_say_that_they_are_shell(page):
    for language, content in re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), flags=re.DOTALL | re.MULTILINE):
        assert language or not re.search(r"^g2d2 ", content, flags=re.MULTILINE), f"{page.name}: mark as sh:\n{content}"


def test_troubleshooting_quotes_what_the_program_says():
    said = "\n".join(text for folder in CODE for file in (ROOT / folder).rglob("*.py") for text in strings(file))
    cells = re.findall(r"^\| (`.*?) \|", (DOCS / "troubleshooting.md").read_text(), flags=re.MULTILINE)
    # a cell that begins without a quotation describes what is seen
    quotes = [quote for cell in cells for quote in re.findall(r"`(.+?)`", cell)]
    assert len(quotes) > 15
    for quote in quotes:
        for fragment in quote.split("..."):
            assert fragment.strip() in said, f"nothing says {fragment!r}"


def strings(file):
    """Every text in a source file, as one piece where it is written in several, with a NUL where a value goes."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
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
