"""Reading in a process of its own, for libraries that a damaged file can crash or keep busy for ever.

scipy's reader of Matrix Market files crashes on files that are cut off or hold a zero byte; HDF5 can loop on a damaged
file, deaf to every signal but a kill. Such files are read by a child (`child`), which leaves arrays in a temporary
folder and is given so much time and no more. The child imports what the format needs, and this process need not: for
small files the price is the start of an interpreter.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gsppca.io.child import child_for
from gsppca.io.options import ReadOptions
from gsppca.io.table import Table, TableError
from gsppca.progress import tell

SECONDS = 60.0  # for any file, and one more for every
BYTES_PER_SECOND = 2**20  # of it: far slower than any disk
LIMIT = "GSPPCA_READ_SECONDS"  # in the environment: another limit
_ANSWER = "answer.json"
_PLAIN = ("feature_names", "sample_names", "labels", "format", "notes")  # of a table, what JSON can hold
_PARTS = ("data", "indices", "indptr")
_LIBRARIES = {"h5ad": "anndata", "mtx": "scipy.io"}
_UNUSED = ("dask", "xarray")  # which anndata imports where it finds them: for nothing, if a file is read as a whole
_ERRORS: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (ImportError, FileNotFoundError, PermissionError, OSError, MemoryError, TableError)
}


def read_isolated(path: Path, kind: str, compression: str | None, options: ReadOptions, strict: bool) -> Table:
    """Read a file as `read_here` does, in a child process; a crash or a time-out is a TableError."""
    tell("reading", 0)
    with tempfile.TemporaryDirectory(prefix="gsppca-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        request = {"path": str(path), "kind": kind, "compression": compression, "options": asdict(options)}
        _run(path, kind, json.dumps(request | {"strict": strict, "folder": name}), folder)
        answer = json.loads((folder / _ANSWER).read_text(encoding="utf-8"))
        if "error" in answer:
            error = _ERRORS[answer["error"]]
            raise error(*answer["arguments"])
        data = _load(folder, answer.pop("shape", None))
    return Table(**answer | {"data": data, "path": path, "notes": tuple(answer["notes"])})


def _run(path: Path, kind: str, request: str, folder: Path) -> None:
    """Let the child read, and wait for it as long as is reasonable."""
    seconds = float(os.environ.get(LIMIT) or SECONDS + _size(path) / BYTES_PER_SECOND)
    try:
        code, last = child_for(kind).run(request, seconds)
    except subprocess.TimeoutExpired:
        raise TableError(
            f"{path}: reading this {kind} file has not ended after {seconds:.1f} s: it seems to be damaged. Get it "
            f"again, or set {LIMIT} to a larger number of seconds."
        ) from None
    if code or not (folder / _ANSWER).exists():
        how = f"signal {-code}" if code < 0 else last or f"exit code {code}"
        raise TableError(
            f"{path}: the library that reads {kind} files crashed on it ({how}): it is damaged, or too large for the "
            "memory. Get it again."
        )


def _size(path: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size


def _save(folder: Path, data: Any) -> list[int] | None:
    """Leave the data in a folder; return the shape of a sparse matrix."""
    if not sparse.issparse(data):
        np.save(folder / "data.npy", np.asarray(data), allow_pickle=False)
        return None
    data = data.tocsr()
    for part in _PARTS:
        np.save(folder / f"{part}.npy", getattr(data, part), allow_pickle=False)
    return list(data.shape)


def _load(folder: Path, shape: list[int] | None) -> Any:
    # A copy on write of the file, which is gone once nobody needs it: the numbers are not in memory twice.
    mode: Any = "c" if os.name == "posix" else None
    parts = [np.load(folder / f"{part}.npy", mode, allow_pickle=False) for part in _PARTS[: 1 if shape is None else 3]]
    parts = [np.asarray(part) for part in parts]
    return parts[0] if shape is None else sparse.csr_array(tuple(parts), shape=tuple(shape))


def main() -> None:
    """Read the file that standard input asks for; leave a table or an error in a folder."""
    from gsppca.io.read import read_here

    request = json.loads(sys.stdin.read())
    path, options, folder = Path(request["path"]), ReadOptions(**request["options"]), Path(request["folder"])
    answer: dict[str, Any]
    try:
        table = read_here(path, request["kind"], request["compression"], options, request["strict"])
        answer = {name: getattr(table, name) for name in _PLAIN}
        if (shape := _save(folder, table.data)) is not None:
            answer["shape"] = shape
    except tuple(_ERRORS.values()) as error:
        kind = next(kind for kind in _ERRORS.values() if isinstance(error, kind))
        answer = {
            "error": kind.__name__,
            "arguments": [arg if isinstance(arg, int) else str(arg) for arg in error.args],
        }
        if isinstance(error, OSError):
            answer["arguments"] = [error.errno, error.strerror, str(error.filename or path)]
    (folder / _ANSWER).write_text(json.dumps(answer), encoding="utf-8")


def _prepare(kind: str) -> None:
    """Import what reads a format, while nothing is asked for yet."""
    if kind == "h5ad":
        for name in _UNUSED:
            sys.modules[name] = None  # type: ignore[assignment]
    with suppress(ImportError):  # said when the file is read
        importlib.import_module(_LIBRARIES[kind])


if __name__ == "__main__":
    _prepare(sys.argv[1])
    main()
