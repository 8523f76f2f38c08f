"""A small table with structure, and a way to call the command line."""

from __future__ import annotations

import csv
import importlib.util
import sys
import types

import numpy as np
import pytest

from tests.needs import optional

optional("cyclopts")
optional("pandas")

from cyclopts import App

from gsppca import GSPPCA
from gsppca.cli import main
from tests.conftest import sparse_factor_data


@pytest.fixture(autouse=True)
def experiments(monkeypatch):
    """The experiments are a package of their own: the command line works whether or not it can be imported."""
    if importlib.util.find_spec("gsppca.cli.experiment") is None:
        stand_in = types.ModuleType("gsppca.cli.experiment")
        stand_in.app = App(name="experiment")
        monkeypatch.setitem(sys.modules, stand_in.__name__, stand_in)


@pytest.fixture(scope="session")
def numbers():
    """X, names, and the names of the variables that the library selects."""
    X, _ = sparse_factor_data(seed=4, n=60, p=20, d=2, q=6)
    names = [f"var {i}" for i in range(20)]
    return X, names, {names[i] for i in GSPPCA(2).fit(X).get_support(indices=True)}


def write_table(path, numbers):
    """A CSV file with row names and a label."""
    X, names, _ = numbers
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sample", *names, "kind"])
        writer.writerows([f"s{i}", *row, "xy"[i % 2]] for i, row in enumerate(X.tolist()))
    return path


@pytest.fixture
def table(tmp_path, numbers):
    return write_table(tmp_path / "table.csv", numbers)


@pytest.fixture
def call(capsys, monkeypatch):
    """Run a command in this process; return its exit code, and what it wrote to stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        written = capsys.readouterr()
        return code, written.out, written.err

    return run


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def column(rows, name):
    return np.array([float(row[name]) for row in rows])
