"""docs/python.md as a notebook: its Python blocks are cells, executed in one kernel after its commands."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.test_docs import DOCS, ROOT, blocks

SMALLER = {
    "--limit 8": "--limit 4",
    '"steps": 8, "iterations": 5': '"steps": 3, "iterations": 2',
    "settings(iterations=10)": "settings(iterations=1)",
}


def small(text):
    for written, run in SMALLER.items():
        text = text.replace(written, run)
    return text


def shown(cell, kind):
    return [output["data"][kind] for output in cell.outputs if kind in output.get("data", {})]


@pytest.mark.slow
def test_the_page_runs_as_a_notebook_and_shows_tables_and_pictures(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    page = (DOCS / "python.md").read_text()
    assert all(written in page for written in SMALLER)
    (commands,) = blocks(DOCS / "python.md", "sh")
    command = small(commands).replace("g2d2 ", f"{sys.executable} -m pipelines.cli ")
    subprocess.run(["bash", "-ec", command], cwd=tmp_path, check=True, capture_output=True)
    pages = [nbformat.v4.new_code_cell(small(block)) for block in blocks(DOCS / "python.md", "python")]
    notebook = nbformat.v4.new_notebook(cells=pages)
    NotebookClient(notebook, timeout=500, resources={"metadata": {"path": str(tmp_path)}}).execute()

    def with_text(words):
        return next(cell for cell in notebook.cells if words in cell.source)

    (overview,) = shown(with_text("Sweep.run"), "text/html")
    assert "Best cell per task and metric" in overview
    assert overview.count("<img") == 4  # truth, measurement, star, Markov
    (cells,) = shown(with_text("sweep.cells()"), "text/html")
    assert cells.count("<tr>") == 1 + 4 + 1  # header, cells, the measurement itself
    (pictures,) = shown(with_text("sweep.images(first)"), "text/html")
    assert pictures.count("<figcaption") == 4
    assert "psnr" in pictures
    solved = with_text("solution = solve")
    (html,) = shown(solved, "text/html")
    assert "t = 50" in html
    assert html.count("<img") == 3
    assert shown(solved, "image/png")
    assert Path(tmp_path, "out/python/sweep/mlflow.db").exists()
