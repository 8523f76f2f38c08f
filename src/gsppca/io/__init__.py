"""Tables in files: one function reads all formats, another says what is in a file.

The names are imported when first used: the command line needs the options of a file before it needs numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gsppca.io.options import ReadOptions
    from gsppca.io.read import read_table
    from gsppca.io.survey import Survey, survey_file
    from gsppca.io.table import Table, TableError

__all__ = ["ReadOptions", "Survey", "Table", "TableError", "read_table", "survey_file"]

_HOMES = {
    "ReadOptions": "options",
    "Survey": "survey",
    "Table": "table",
    "TableError": "table",
    "read_table": "read",
    "survey_file": "survey",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
