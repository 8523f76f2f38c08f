"""The notebooks of the tasks run from the first cell to the last, in an empty folder, and say what they should."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.needs import optional

nbclient = optional("nbclient")
nbformat = optional("nbformat")
for package in ("ipykernel", "matplotlib", "pandas", "polars", "cyclopts", "plotly"):
    optional(package)

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SAID = {
    "geo": [
        r"The 300 rows look like variables",
        r"(8[5-9]|90) of the 90 true probes are selected, and [0-2] others",
        r"tumour +-?\d",
    ],
    "panel": [r"the first 50 are selected, as asked for", r"\bESR1\b", r"50 genes with the five markers +0\.9"],
    "spectra": [r"A core of \d+ of 401 variables", r"\d+ stands for \d+", r"\d+ to \d+: \d+ relevant wavelengths"],
}


def shown(notebook):
    """All text that the cells put out."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return "\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)


def test_every_notebook_is_here():
    assert [path.stem for path in NOTEBOOKS] == sorted(SAID)


@pytest.mark.filterwarnings("default")  # those of Jupyter's packages are not ours
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    text = shown(notebook)
    for sentence in SAID[path.stem]:
        assert re.search(sentence, text), sentence
    assert "gsppca: " not in text  # how a command that fails begins
    assert "\x1b[1A" not in text  # progress bars, which a cell cannot remove


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_without_outputs_and_linked(path):
    cells = json.loads(path.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert not any("method=" in line for cell in code for line in cell["source"])  # the default
    assert f"(../notebooks/{path.name})" in (ROOT / "docs" / "tasks" / f"{path.stem}.md").read_text()
