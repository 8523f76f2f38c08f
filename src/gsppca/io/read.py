"""Read a table from a file of any of the formats."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gsppca._typing import PathLike
from gsppca.io.formats import detect_format
from gsppca.io.options import ReadOptions
from gsppca.io.table import Table, TableError, check_table, settle_missing


def read_table(path: PathLike, options: ReadOptions | None = None, *, strict: bool = True, **changes: Any) -> Table:
    r"""Read a table: one row per sample, one column per variable.

    CSV and TSV (plain or compressed) are read block by block, so that reading takes little more memory than the numbers
    themselves; Parquet, Feather, npy, npz, Matrix Market, h5ad and zarr are read by their own libraries.

    Parameters
    ----------
    path : str or path
        The file, or the folder of a zarr store.
    options : ReadOptions, optional
        How to read it; found out by looking at it where not said.
    strict : bool, default=True
        Whether columns of text that nobody has given a role to, missing and infinite values are errors; otherwise such
        columns are left out, and such values kept.
    **changes
        Fields of `ReadOptions`, by name, instead of or on top of `options`.

    Returns
    -------
    table : Table
        With `data`, `feature_names`, `sample_names`, `labels`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from gsppca.io import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "small.csv")
    ...     _ = file.write_text("sample,height,weight,kind\na,1,2,x\nb,3,4,y\n")
    ...     table = read_table(file, label="kind")
    >>> table.data.tolist(), table.feature_names, table.sample_names, table.labels
    ([[1.0, 2.0], [3.0, 4.0]], ['height', 'weight'], ['a', 'b'], ['x', 'y'])
    """
    options = replace(options or ReadOptions(), **changes)
    file = Path(os.fspath(path))
    kind, compression = detect_format(file, options.format)
    table = _reader(kind)(file, kind, compression, options, strict)
    if options.transpose:
        if table.labels is not None:
            raise TableError(f"{file}: --label does not go with --transpose: a label is one value per sample.")
        table = table.transposed()
    table = check_table(replace(table, data=_as_floats(table)))
    return settle_missing(table, options.missing) if strict else table


def _reader(kind: str) -> Any:
    """The function that reads a format; its module, and what that needs, is imported only now."""
    if kind in ("csv", "tsv"):
        from gsppca.io.delimited import read_delimited

        return read_delimited
    if kind in ("parquet", "feather"):
        from gsppca.io.arrow import read_arrow

        return read_arrow
    if kind in ("h5ad", "zarr"):
        from gsppca.io.stores import read_store

        return read_store
    from gsppca.io.arrays import read_array

    return read_array


def _as_floats(table: Table) -> Any:
    """The data as float32 or float64, rows and columns; sparse data as CSR."""
    data = table.data
    if data.ndim != 2:
        raise TableError(
            f"{table.path}: the array has {data.ndim} dimension(s), 2 are needed: rows are samples, columns variables."
        )
    if data.dtype.kind not in "biuf":
        raise TableError(f"{table.path}: the array holds {data.dtype}, not real numbers. Convert it to float64.")
    if issparse(data):
        data = data.tocsr()
    return data if data.dtype in (np.float32, np.float64) else data.astype(np.float64)
