"""Imports point one way, and importing the library is light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import gsppca

SOURCE = Path(gsppca.__file__).parent


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def modules_under(folder):
    return sorted((SOURCE / folder).rglob("*.py"))


def test_the_core_is_pure_numerics():
    """numpy, scipy and the interface of the data: no scikit-learn, no container, no estimator."""
    allowed = ("gsppca._typing", "gsppca.core", "gsppca.data.base")
    assert modules_under("core")
    for path in modules_under("core"):
        for name in imports_of(path):
            assert not name.startswith("sklearn"), f"{path.name} imports {name}"
            assert not name.startswith("gsppca") or name.startswith(allowed), f"{path.name} imports {name}"
        assert "issparse" not in path.read_text()


def test_the_data_knows_nothing_of_the_model():
    assert modules_under("data")
    for path in modules_under("data"):
        for name in imports_of(path):
            assert not name.startswith("gsppca") or name.startswith(("gsppca._typing", "gsppca.data"))


def test_competitors_do_not_use_our_core():
    for path in modules_under("baselines"):
        for name in imports_of(path):
            assert not name.startswith(("gsppca.core", "gsppca.data", "gsppca.estimator", "gsppca.stages"))


def test_files_and_models_know_nothing_of_the_command_line():
    leaves = ("gsppca.cli", "gsppca.report", "gsppca.experiments", "cyclopts", "rich")
    rooms = [path for folder in ("core", "data", "io", "baselines") for path in modules_under(folder)]
    for path in [*rooms, *(SOURCE / name for name in ("_base.py", "estimator.py", "stages.py", "saving.py"))]:
        for name in imports_of(path):
            assert not name.startswith(leaves), f"{path.name} imports {name}"


def test_importing_the_library_imports_no_extra():
    """No more than scikit-learn itself imports, which takes pandas along where it is installed."""
    code = (
        "import sys, sklearn.base, sklearn.feature_selection; before = set(sys.modules);"
        "import gsppca; [getattr(gsppca, name) for name in gsppca.__all__];"
        "print([m for m in ('matplotlib', 'pandas', 'dask', 'plotly', 'pywt') if m in set(sys.modules) - before])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
