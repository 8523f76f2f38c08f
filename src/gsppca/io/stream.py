"""Standard input as a file: tables are looked at before they are read."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gsppca._typing import PathLike
from gsppca.io.table import TableError

STREAM = "-"
STREAM_NAME = "standard input"
_copies: dict[str, Any] = {}  # what has been read of standard input: it is there only once, and may be wanted twice


def local_file(path: PathLike) -> tuple[Path, str]:
    """Return a file to read, and its name for people: a temporary copy of standard input for "-"."""
    file = Path(os.fspath(path))
    if str(file) != STREAM:
        return file, str(file)
    if _copies.get("stdin") is not sys.stdin:
        if sys.stdin is None or sys.stdin.isatty():
            raise TableError(f"{STREAM_NAME}: nothing is piped in. Use, for example: gsppca info - < data.csv")
        folder = tempfile.mkdtemp(prefix="gsppca-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        copy = Path(folder, STREAM_NAME)
        with copy.open("wb") as target:
            shutil.copyfileobj(sys.stdin.buffer, target)
        _copies.update(stdin=sys.stdin, copy=copy)
    return _copies["copy"], STREAM_NAME


@contextmanager
def errors_about(copy: Path, name: str) -> Iterator[None]:
    """Let errors name the file that people know, not the copy of it that is read."""
    try:
        yield
    except TableError as error:
        error.args = tuple(str(part).replace(str(copy), name) for part in error.args)
        raise
