"""What happens to the numbers of a table once they are read: floats, codes for missing values, logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gsppca.data.entries import stored_values
from gsppca.data.memory import as_floats as native_floats
from gsppca.io.table import Table, TableError


def as_floats(table: Table) -> Any:
    """Return the data as float32 or float64, rows and columns; sparse data as CSR."""
    data = table.data
    if data.ndim != 2:
        raise TableError(
            f"{table.path}: the array has {data.ndim} dimension(s), 2 are needed: rows are samples, columns variables."
        )
    if data.dtype.kind not in "biuf":
        raise TableError(f"{table.path}: the array holds {data.dtype}, not real numbers. Convert it to float64.")
    if issparse(data):
        data = data.tocsr()
    return native_floats(data)


def without_codes(table: Table, codes: Sequence[str]) -> Table:
    """Set the numbers that mean missing, such as -999, to NaN; text that does has been left out before."""
    values = [float(code) for code in codes if _is_float(code)]
    stored = stored_values(table.data)
    marked = [value for value in values if (stored == value).any()]
    if not marked:
        return table
    data = table.data.copy()  # the array may be one that is mapped from a file
    entries = data.data if issparse(data) else data
    count = 0
    for value in marked:
        is_code = entries == value
        count += int(is_code.sum())
        entries[is_code] = np.nan
    return replace(table, data=data).with_notes(f"{count} values are missing, as --na says")


def with_logarithms(table: Table) -> Table:
    """Replace each value x by log2(1 + x)."""
    stored = stored_values(table.data)
    if (stored < 0).any():
        raise TableError(
            f"{table.path}: --log needs numbers from 0 up, but {int((stored < 0).sum())} are negative, the smallest "
            f"{np.nanmin(stored):.6g}. Leave out --log: such data are usually logarithms already."
        )
    if issparse(table.data):
        data = table.data.copy()
        data.data = np.log1p(data.data) / np.log(2.0).astype(data.dtype)
    else:
        data = np.log1p(table.data)
        data /= np.log(2.0).astype(data.dtype)
    return replace(table, data=data).with_notes("logarithms are taken: x is replaced by log2(1 + x)")


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
