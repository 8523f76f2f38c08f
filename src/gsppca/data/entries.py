"""The stored numbers of a container, for checks that come before any arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from gsppca._masked import unmasked

ROW_BLOCK = 1024


def native(X: Any) -> Any:
    """Return numbers in the byte order of this machine: those of big-endian files are floats like others."""
    dtype = getattr(X, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind not in "biuf" or dtype.isnative:
        return X
    return X.astype(dtype.newbyteorder("="))


def aligned(X: Any) -> Any:
    """Return arrays whose numbers do not begin in the middle of a word, as they may when another process sent them.

    BLAS does not take such arrays, and the loops that numpy has in its place round differently.
    """
    if isinstance(X, tuple):
        return tuple(map(aligned, X))
    return np.require(X, requirements="A") if isinstance(X, np.ndarray) else X


def stored_values(X: Any) -> Any:
    """Return the array of all numbers that a container stores; zeros of a sparse matrix are not."""
    return X.data if issparse(X) else np.asarray(unmasked(X))


def first_bad_entry(X: Any) -> tuple[int, int] | None:
    """Return row and column of the first entry that is not finite; None if all are."""
    if issparse(X):
        entries = X.tocoo()
        bad = ~np.isfinite(entries.data)
        places = sorted(zip(entries.row[bad].tolist(), entries.col[bad].tolist(), strict=True))
        return places[0] if places else None
    X = np.asarray(unmasked(X))
    for start in range(0, len(X), ROW_BLOCK):
        found = np.argwhere(~np.isfinite(X[start : start + ROW_BLOCK]))
        if len(found):
            return start + int(found[0][0]), int(found[0][1])
    return None


def is_constant(X: Any) -> bool:
    """Whether every column holds one number only; a sparse matrix, whether it stores nothing but zeros."""
    return not (X.data.any() if issparse(X) else (X != X[:1]).any())
