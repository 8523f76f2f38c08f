"""Where results go: refused before the work where they cannot, all of them or none, one run at a time."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gsppca
from gsppca import GSPPCA
from gsppca._atomic import claim
from gsppca.cli import main
from gsppca.io.write import MOVED, OUTPUTS, as_cell
from tests.cli.conftest import read_csv, write_table

FILES = sorted(set(OUTPUTS) - {"report.html"})
FIT = ("--drop", "kind", "-d", 2, "-q")


@pytest.fixture
def no_fit(monkeypatch):
    monkeypatch.setattr(GSPPCA, "fit", lambda *_: pytest.fail("the fit was run"))


def test_all_outputs_are_moved():
    assert sorted(MOVED) == sorted(OUTPUTS)
    assert MOVED.index("model.npz") < MOVED.index("model.json")


@pytest.mark.usefixtures("no_fit")
def test_places_that_cannot_be_written_are_refused_before_the_fit(call, table, tmp_path):
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    (tmp_path / "link").symlink_to("full")
    refused = {
        "dangling": "a link to nowhere",
        "dangling/below": "is not a folder",
        "full": "is not empty",
        "link": "is not empty",
        "table.csv": "is a file",
        "table.csv/below": "is not a folder",
    }
    for name, said in refused.items():
        code, _, err = call("fit", table, *FIT, "-o", tmp_path / name)
        assert (code, err.count("\n")) == (1, 1)
        assert said in err, name
    for name, said in (("dangling", "a link to nowhere"), ("full", "is a folder"), ("full/notes.txt", "exists")):
        code, _, err = call("compare", table, "-o", tmp_path / name, "-q")
        assert code == 1
        assert said in err, name


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.usefixtures("no_fit")
def test_a_folder_without_the_right_to_write(call, table, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    for name in ("closed", "closed/new"):
        code, _, err = call("fit", table, *FIT, "-o", tmp_path / name)
        assert code == 1
        assert "no right to write" in err


def test_the_current_folder_and_links_to_folders_are_written(call, table, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "link").symlink_to("here")
    monkeypatch.chdir(tmp_path / "here")
    assert call("fit", table, *FIT, "-o", ".")[0] == 0
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == FILES
    assert call("fit", table, *FIT, "-o", tmp_path / "link")[0] == 1
    assert call("fit", table, *FIT, "-o", tmp_path / "link", "--overwrite")[0] == 0
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == FILES
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "link", "table.csv"]


@pytest.fixture(scope="module")
def written(tmp_path_factory, numbers):
    """A folder with a report, for others to copy."""
    folder = tmp_path_factory.mktemp("written")
    write_table(folder / "table.csv", numbers)
    assert main(["fit", str(folder / "table.csv"), *map(str, FIT), "-o", str(folder / "out"), "--report"]) == 0
    return folder / "out"


@pytest.mark.parametrize("number", range(1, 8))
def test_an_interrupted_overwrite_changes_nothing(call, table, written, tmp_path, monkeypatch, number):
    folder = Path(shutil.copytree(written, tmp_path / "out"))
    (folder / "notes.txt").write_text("mine")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    real, calls = Path.replace, []

    def interrupt(self, target):
        calls.append(target)
        if Path(target).parent == folder and len(calls) >= number and self.parent.name.endswith(".part"):
            raise KeyboardInterrupt
        return real(self, target)

    monkeypatch.setattr(Path, "replace", interrupt)
    code, _, err = call("fit", table, "--drop", "kind", "-d", 3, "-q", "-o", folder, "--overwrite")
    assert (code, err) == (130, "gsppca: interrupted: nothing was written.\n")
    monkeypatch.undo()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert gsppca.load(folder).n_components_ == 2
    assert call("fit", table, "--drop", "kind", "-d", 3, "-q", "-o", folder, "--overwrite")[0] == 0
    assert gsppca.load(folder).n_components_ == 3
    assert sorted(path.name for path in folder.iterdir()) == sorted([*FILES, "notes.txt"])  # the old report is gone


@pytest.mark.usefixtures("no_fit")
@pytest.mark.parametrize("exists", [False, True])
def test_a_second_run_to_the_same_folder_fails_at_once(call, table, tmp_path, exists):
    folder = tmp_path / "out"
    if exists:
        folder.mkdir()
    with claim(folder):
        for more in ((), ("--overwrite",)):
            code, _, err = call("fit", table, *FIT, "-o", folder, *more)
            assert code == 1
            assert "another process is about to write there" in err


RACE = """
import os, sys
import gsppca.estimator  # what takes long to import, once for both
from gsppca.cli import main
runs = []
for _ in range(2):
    runs.append(os.fork())
    if not runs[-1]:
        os._exit(main(sys.argv[1:]))
print(*sorted(os.waitstatus_to_exitcode(os.waitpid(run, 0)[1]) for run in runs))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork is of Unix")
def test_of_two_runs_at_once_one_writes(table, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(gsppca.__file__).parents[1])}
    command = [sys.executable, "-c", RACE, "fit", str(table), *map(str, FIT), "-o", str(tmp_path / "out")]
    runs = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert runs.stdout.split() == ["0", "1"]
    assert any(words in runs.stderr for words in ("another process", "is not empty", "appeared meanwhile"))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == FILES
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "table.csv"]


FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "＝1"]
HARMLESS = ["-12.5", "+3", "a=b", "gene-1", "-1e5"]


def test_cells():
    for text in (*FORMULAS, "\t=1", "\r", "-", "- 1", "+inf2", "-１"):
        assert as_cell(text) == f"'{text}"
    for value in (*HARMLESS, "", "'=1", -1.5, None, float("-inf"), "-inf"):
        assert as_cell(value) is value


def test_names_that_spreadsheets_would_run_are_marked_as_text(call, numbers, tmp_path):
    X, _, _ = numbers
    names = [*FORMULAS, *HARMLESS, *(f"v{i}" for i in range(10))]
    rows = [f"={i}" for i in range(len(X))]
    with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["sample", *names])
        writer.writerows([row, *values] for row, values in zip(rows, X.tolist(), strict=True))
    code, out, _ = call(
        "fit", tmp_path / "t.csv", "-d", 2, "--size", 20, "-o", tmp_path / "out", "--header", "yes", "--json"
    )
    assert code == 0
    written = {row["name"] for row in read_csv(tmp_path / "out" / "selected.csv")}
    assert written == {f"'{name}" for name in FORMULAS} | set(names[len(FORMULAS) :])
    assert {row["entering"] for row in read_csv(tmp_path / "out" / "evidence.csv")} <= written
    assert [row["sample"] for row in read_csv(tmp_path / "out" / "scores.csv")] == [f"'{row}" for row in rows]
    # The true names are in the JSON.
    assert {row["name"] for row in json.loads(out)["selected"]} == set(names)
    assert list(gsppca.load(tmp_path / "out").feature_names_in_) == names
    code, out, _ = call(
        "transform", tmp_path / "out", tmp_path / "t.csv", "-o", tmp_path / "new.csv", "--header", "yes"
    )
    assert code == 0
    assert read_csv(tmp_path / "new.csv") == read_csv(tmp_path / "out" / "scores.csv")
