"""Every example runs, in its quick form, and makes the pictures and tables that the site shows."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from tests.needs import optional

mpl = optional("matplotlib")

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "docs" / "images" / "gallery"
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a script of the examples as if from the command line, in this process, to spare the imports."""
    monkeypatch.setenv("GSPPCA_QUICK", "1")
    monkeypatch.setenv("GSPPCA_GALLERY", str(tmp_path))
    monkeypatch.delenv("GSPPCA_DATA", raising=False)  # what the examples do without data is what everybody gets
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    monkeypatch.delitem(sys.modules, "showing", raising=False)

    def run_script(script):
        with mpl.rc_context():
            runpy.run_path(str(script), run_name="__main__")
        sys.modules.pop("showing", None)

    return run_script


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")  # those of scanpy and its packages are not ours
def test_examples_make_what_the_site_shows(script, run, tmp_path):
    run(script)
    made = {path.name for path in tmp_path.iterdir()}
    name = script.stem.removeprefix("plot_")
    assert made == {path.name for path in GALLERY.iterdir() if path.name.split("_")[0].split(".")[0] == name}
    for picture in tmp_path.glob("*.png"):
        assert picture.stat().st_size > 5000  # not an empty figure


def test_every_picture_has_its_example():
    names = {path.stem.removeprefix("plot_") for path in EXAMPLES}
    assert {path.name.split("_")[0].split(".")[0] for path in GALLERY.iterdir()} == names


def test_pictures_are_small():
    assert all(path.stat().st_size < 200_000 for path in GALLERY.iterdir())


@pytest.mark.parametrize("name", ["own_baseline", "own_container"])
def test_extensions_work(name, run, capsys):
    run(ROOT / "examples" / f"{name}.py")
    assert "selected:" in capsys.readouterr().out
