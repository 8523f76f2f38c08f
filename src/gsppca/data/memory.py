"""An array in memory as a matrix: dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from gsppca._masked import unmasked
from gsppca.data.array import ArrayMatrix
from gsppca.data.dense import DenseMatrix
from gsppca.data.entries import native
from gsppca.data.sparse import SparseMatrix


def in_memory(X: Any, **known: Any) -> ArrayMatrix:
    """Return the centred matrix of an array or of a CSR or CSC matrix; `known` as in `ColumnView`."""
    if issparse(X):
        if X.format not in ("csr", "csc"):
            raise ValueError(f"X must be in CSR or CSC format, got {X.format.upper()}. Convert it with X.tocsr().")
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return SparseMatrix(as_floats(X), **known)
    X = np.asarray(unmasked(X))
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(
            f"X must be a two-dimensional array of real numbers, got {X.ndim} dimension(s) of dtype {X.dtype}. "
            "Give one row per sample and one column per variable."
        )
    return DenseMatrix(as_floats(X), **known)


def as_floats(X: Any) -> Any:
    """Return numbers as float64, float32 as it is; both in the byte order of this machine."""
    X = native(X)
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
