"""Reading in a process of its own, for libraries that a damaged file can crash or keep busy for ever.

scipy's reader of Matrix Market files crashes on files that are cut off or hold a zero byte; HDF5 can loop on a damaged
file, deaf to every signal but a kill. Such files are read by a child, which leaves arrays in a temporary folder and is
given so much time and no more. The child imports what the format needs, and this process need not: for small files the
price is the start of an interpreter.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gsppca.io.options import ReadOptions
from gsppca.io.table import Table, TableError
from gsppca.progress import tell

SECONDS = 60.0  # for any file, and one more for every
BYTES_PER_SECOND = 2**20  # of it: far slower than any disk
LIMIT = "GSPPCA_READ_SECONDS"  # in the environment: another limit
_ANSWER = "answer.json"
_PLAIN = ("feature_names", "sample_names", "labels", "format", "notes")  # of a table, what JSON can hold
_PARTS = ("data", "indices", "indptr")
_ERRORS: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (ImportError, FileNotFoundError, PermissionError, OSError, MemoryError, TableError)
}


def read_isolated(path: Path, kind: str, compression: str | None, options: ReadOptions, strict: bool) -> Table:
    """Read a file as `read_here` does, in a child process; a crash or a time-out is a TableError."""
    tell("reading", 0)
    with tempfile.TemporaryDirectory(prefix="gsppca-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        request = {"path": str(path), "kind": kind, "compression": compression, "options": asdict(options)}
        _run(path, kind, json.dumps(request | {"strict": strict}), folder)
        answer = json.loads((folder / _ANSWER).read_text(encoding="utf-8"))
        if "error" in answer:
            error = _ERRORS[answer["error"]]
            raise error(*answer["arguments"])
        data = _load(folder, answer.pop("shape", None))
    return Table(**answer | {"data": data, "path": path, "notes": tuple(answer["notes"])})


def _run(path: Path, kind: str, request: str, folder: Path) -> None:
    """Start the child, and wait for it as long as is reasonable."""
    seconds = float(os.environ.get(LIMIT) or SECONDS + _size(path) / BYTES_PER_SECOND)
    root = str(Path(__file__).parents[2])
    known = os.environ.get("PYTHONPATH")
    environment = {**os.environ, "PYTHONPATH": root if not known else os.pathsep.join([root, known])}
    # -P: nothing is imported from the current folder, which may be that of a stranger's data.
    command = [sys.executable, "-P", "-m", "gsppca.io.isolated", str(folder)]
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=said, stderr=said, env=environment) as child,
    ):
        try:
            child.communicate(request.encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            raise TableError(
                f"{path}: reading this {kind} file has not ended after {seconds:.1f} s: it seems to be damaged. Get it "
                f"again, or set {LIMIT} to a larger number of seconds."
            ) from None
        finally:
            if child.poll() is None:
                child.kill()
        said.seek(0)
        last = (said.read().decode("utf-8", "replace").strip().splitlines() or [""])[-1]
    if child.returncode or not (folder / _ANSWER).exists():
        how = f"signal {-child.returncode}" if child.returncode < 0 else last or f"exit code {child.returncode}"
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


def main(folder: Path) -> None:
    """Read the file that standard input asks for; leave a table or an error in a folder."""
    from gsppca.io.read import read_here

    request = json.loads(sys.stdin.read())
    path, options = Path(request["path"]), ReadOptions(**request["options"])
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


if __name__ == "__main__":
    main(Path(sys.argv[1]))
