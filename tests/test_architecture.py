"""Imports point one way, files are of a readable size, and importing the library is light."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import gsppca

SOURCE = Path(gsppca.__file__).parent

LEAVES = {"_atomic", "_checkpoint", "_masked", "_npz", "_optional", "_threads", "_typing"}
LEAVES |= {"checks", "exceptions", "metrics", "parameters", "progress"}
# Room or module: the others that it may import, besides the leaves.
ARROWS = {
    "results": set(),
    "data": set(),
    "linalg": {"data", "results"},
    "rankings": {"data", "linalg", "results"},
    "evidence": {"data", "linalg", "results"},
    "components": {"data", "evidence", "linalg", "results"},
    "rules": {"data", "linalg", "rankings", "results"},
    "validation": {"data"},
    "stages": {"components", "data", "evidence", "linalg", "rankings", "results", "rules", "validation"},
    "frame": {"components", "data", "results", "stages", "validation"},
    "methods": {"components", "data", "evidence", "frame", "rankings", "results", "rules", "stages"},
    "procedure": {"components", "frame", "methods", "results", "rules"},
    "fit_warnings": {"results"},
    "overview": {"data", "rules"},
    "summary": {"overview"},
    "variable_selection": {"data", "fit_warnings", "frame", "procedure", "results", "rules", "validation"},
    "estimator": {"components", "data", "procedure", "validation", "variable_selection"},
    "selector": {"components", "data", "procedure", "validation", "variable_selection"},
    "baselines": set(),
    "datasets": set(),
    "comparison": {"baselines", "data", "estimator", "procedure", "rules", "stages", "validation"},
    "io": {"overview", "components", "data", "estimator", "methods", "procedure", "results", "rules", "selector"},
    "plots": {"overview", "comparison", "results", "rules", "variable_selection"},
    "report": {
        "overview",
        "summary",
        "components",
        "data",
        "frame",
        "linalg",
        "procedure",
        "results",
        "rules",
        "validation",
    }
    | {"variable_selection"},
    "scanpy": {"overview", "data", "estimator", "procedure", "rules", "validation"},
    "experiments": {"baselines", "comparison", "components", "data", "datasets", "evidence", "estimator", "linalg"}
    | {"methods", "rankings", "rules", "stages"},
    "cli": {"overview", "comparison", "datasets", "estimator", "experiments", "io", "procedure", "report", "summary"},
    "__main__": {"cli"},
}
# Imported inside a function, to break a circle: a model saves and shows itself; methods are compared with the measures
# of the experiments, which use the stability of a selection.
LATE = {("variable_selection", "io"), ("variable_selection", "summary"), ("comparison", "experiments")}
NUMERICS = ("linalg", "rankings", "evidence", "rules", "components", "results")


def imports_of(path):
    """Modules of ours and others that a file imports when it runs; those for type checkers do not count."""
    tree = ast.parse(path.read_text())
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "gsppca":
            homes = gsppca._HOMES
            yield from (f"gsppca.{homes.get(name.name, name.name)}" for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def room_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


FILES = sorted(path for path in SOURCE.rglob("*.py") if room_of(path) != "__init__")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_table(path):
    room = room_of(path)
    assert room in ARROWS.keys() | LEAVES, f"{room} is not in the table"
    for name in imports_of(path):
        package, _, rest = name.partition(".")
        if package != "gsppca" or rest.startswith("__version__"):
            assert room not in NUMERICS or package not in ("sklearn", "joblib"), f"{path.name} imports {name}"
            continue
        other = rest.partition(".")[0]
        if other != room and other not in LEAVES and (room, other) not in LATE:
            assert other in ARROWS.get(room, ()), f"{path.relative_to(SOURCE)} imports {name}"


def test_the_table_has_no_circle():
    TopologicalSorter(ARROWS).prepare()


def test_containers_are_known_to_the_data_and_to_what_reads_and_writes_files():
    allowed = {"data", "io", "cli", "scanpy", "comparison", "baselines", "components", "report", "experiments"}
    allowed |= {"validation"}
    for path in FILES:
        if room_of(path) not in allowed:
            assert "issparse" not in path.read_text(), path


def test_files_are_of_a_readable_size():
    long = {str(path.relative_to(SOURCE)): len(path.read_text().splitlines()) for path in FILES}
    # The parameters, fitted attributes and what can be done with them, with their documentation.
    reasons = {"variable_selection.py": 420, "estimator.py": 330, "stages.py": 420, "results.py": 330}
    assert {name: count for name, count in long.items() if count > reasons.get(name, 350)} == {}


def test_importing_the_library_is_light_brings_its_names_and_no_extra():
    """No more than scikit-learn itself imports, which takes pandas along where it is installed."""
    code = (
        "import sys, gsppca; assert 'sklearn' not in sys.modules and 'numpy' not in sys.modules;"
        "assert set(gsppca.__all__) <= set(dir(gsppca));"
        "import sklearn.base, sklearn.feature_selection; before = set(sys.modules);"
        "from gsppca import *; assert GSPPCA is gsppca.GSPPCA;"
        "assert all(getattr(gsppca, name) for name in gsppca.__all__);"
        "print([m for m in ('matplotlib', 'pandas', 'dask', 'plotly', 'pywt') if m in set(sys.modules) - before]);"
        "import gsppca.io"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = gsppca.nothing
