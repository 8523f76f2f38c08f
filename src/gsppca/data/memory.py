"""An array in memory as a matrix: dense or sparse."""

from __future__ import annotations

from mmap import mmap
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, issparse

from gsppca._masked import unmasked
from gsppca.data.array import ArrayMatrix
from gsppca.data.base import gram_is_small
from gsppca.data.dense import DenseMatrix
from gsppca.data.entries import native
from gsppca.data.sparse import SparseMatrix

LARGE = 2**20  # entries from which on it matters how an array is stored
SPARSE = 0.05  # share of entries that are not zero: products take a fifth of the time; at 0.2 still 0.6 to 0.8 of it


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


def without_zeros(X: Any) -> Any:
    """Return an array of which nearly all is zero, such as one of word counts, as a sparse one; others as they are.

    Its products then take a quarter of the time or less, and its entries a small part of its memory. CSR if X is stored
    by rows, CSC if by columns. If its Gram matrix is small, few products are made, and it stays dense. Most arrays are
    known by a few of their rows; data in a file is not read for this.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype.kind not in "biuf" or X.size < LARGE or _is_mapped(X):
        return X
    if gram_is_small(*X.shape) or not (X.flags.c_contiguous or X.flags.f_contiguous):
        return X
    some = X[:: max(1, len(X) // 64)]
    if any(np.count_nonzero(part) > SPARSE * part.size for part in (some, X)):
        return X
    by_row = X.flags.c_contiguous
    long = X if by_row else X.T
    flat = long.reshape(-1)
    places = np.flatnonzero(flat)
    ends = np.searchsorted(places, np.arange(len(long) + 1) * long.shape[1])
    parts = (flat[places], (places % long.shape[1]).astype(np.int32), ends.astype(np.int32))
    return csr_array(parts, shape=X.shape) if by_row else csc_array(parts, shape=X.shape)


def _is_mapped(X: Any) -> bool:
    """Whether an array is a view of a file."""
    while isinstance(X, np.ndarray):
        X = X.base
    return isinstance(X, mmap)


def as_floats(X: Any) -> Any:
    """Return numbers as float64, float32 as it is; both in the byte order of this machine."""
    X = native(X)
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
