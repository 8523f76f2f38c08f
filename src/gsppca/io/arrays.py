"""Arrays in files: npy, npz, Matrix Market."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from gsppca.io.options import ReadOptions
from gsppca.io.table import Table, TableError

_DATA_KEYS = ("X", "data", "x", "arr_0")
_NAME_KEYS = {"feature_names": ("feature_names", "columns", "genes"), "sample_names": ("sample_names", "index", "rows")}
_LABEL_KEYS = ("labels", "y")


def read_array(path: Path, kind: str, compression: str | None, options: ReadOptions, strict: bool) -> Table:
    """Read an npy, npz or Matrix Market file; nothing in it is unpickled."""
    if options.drop:
        raise TableError(f"{path}: --drop is for files with named columns. Select the columns before saving the array.")
    if kind != "npz" and options.label is not None:
        raise TableError(f"{path}: --label is for files with more than one array. Save an npz with an array of labels.")
    if kind == "npy":
        return Table(np.load(path, mmap_mode="r", allow_pickle=False), None, None, None, path, "numpy array")
    return _read_npz(path, options) if kind == "npz" else _read_market(path)


def _read_npz(path: Path, options: ReadOptions) -> Table:
    # Opened here: numpy leaves a broken archive open.
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        keys = list(file.files)
        if {"format", "shape", "data"} <= set(keys):
            return Table(scipy.sparse.load_npz(path).tocsr(), None, None, None, path, "sparse npz")
        key = _data_key(path, file, options.key)
        data = file[key]
        found: dict[str, Any] = {}
        for what, words in _NAME_KEYS.items():
            length = data.shape[1 if what == "feature_names" else 0]
            found[what] = next((_texts(file[word], length) for word in words if word in keys and word != key), None)
        labels = None
        if options.label is not None or any(word in keys for word in _LABEL_KEYS):
            word = options.label or next(word for word in _LABEL_KEYS if word in keys)
            if word not in keys:
                raise TableError(f"{path}: --label {word}: there is no such array. The file holds {', '.join(keys)}.")
            labels = _texts(file[word], len(data))
            if labels is None and options.label is not None:
                raise TableError(f"{path}: --label {word}: the array does not hold one label for each of the rows.")
    return Table(data, found["feature_names"], found["sample_names"], labels, path, "npz", (f"array {key!r}",))


def _data_key(path: Path, file: Any, wanted: str | None) -> str:
    keys = list(file.files)
    if wanted is not None:
        if wanted in keys:
            return wanted
        raise TableError(f"{path}: --key {wanted}: there is no such array. The file holds {', '.join(keys)}.")
    tables = [key for key in keys if file[key].ndim == 2 and file[key].dtype.kind in "biuf"]
    if len(tables) == 1:
        return tables[0]
    known = [key for key in _DATA_KEYS if key in tables]
    if known:
        return known[0]
    if not tables:
        raise TableError(f"{path}: no array of it has rows and columns of numbers. It holds {', '.join(keys)}.")
    raise TableError(f"{path}: {len(tables)} arrays could be the data: {', '.join(tables)}. Choose one with --key.")


def _texts(array: Any, length: int) -> list[str] | None:
    return [str(value) for value in array] if array.shape == (length,) else None


def _read_market(path: Path) -> Table:
    """Read a sparse or dense matrix; names from the files that 10x Genomics puts beside it."""
    matrix: Any = scipy.io.mmread(path)  # an array or a matrix of scipy, by its version
    data: Any = scipy.sparse.csr_array(matrix) if scipy.sparse.issparse(matrix) else np.asarray(matrix)
    features = _beside(path, ("features.tsv", "genes.tsv"), column=1)
    samples = _beside(path, ("barcodes.tsv",), column=0)
    notes: tuple[str, ...] = ()
    if features and samples and data.shape == (len(features), len(samples)) and len(features) != len(samples):
        data = data.T.tocsr() if scipy.sparse.issparse(data) else data.T
        notes = ("10x layout, by the names beside it: rows are genes, and have been made columns",)
    n, p = data.shape
    names = _unique(features) if features and len(features) == p else None
    return Table(data, names, samples if samples and len(samples) == n else None, None, path, "Matrix Market", notes)


def _beside(path: Path, candidates: Sequence[str], column: int) -> list[str] | None:
    for name in candidates:
        for file in (path.with_name(name), path.with_name(f"{name}.gz")):
            if file.is_file():
                opener = gzip.open if file.suffix == ".gz" else open
                with opener(file, "rt", encoding="utf-8") as lines:
                    rows = [line.rstrip("\r\n").split("\t") for line in lines]
                return [row[min(column, len(row) - 1)] for row in rows]
    return None


def _unique(names: list[str]) -> list[str]:
    """Symbols of genes occur twice; a number is added, as scanpy does."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        count = seen.get(name, 0)
        unique.append(f"{name}-{count}" if count else name)
        seen[name] = count + 1
    return unique
