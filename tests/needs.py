"""What a test needs and may be missing: an optional package, a browser.

It is skipped without, unless `pytest --require=extras` (or browser) says that everything must be there: a broken
installation would otherwise pass by skipping.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest

KINDS = ("extras", "browser")
required: set[str] = set()  # filled by conftest.py from the command line


def missing(kind: str, message: str) -> None:
    """Skip the test or module, or fail it where what it needs is required."""
    if kind in required:
        pytest.fail(message, pytrace=False)
    pytest.skip(message, allow_module_level=True)


def optional(module: str) -> Any:
    """Import an optional module; without it the test, or the whole file, is skipped."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise  # it is there, and broken
        return missing("extras", f"{module} is not installed: run `make install`")
