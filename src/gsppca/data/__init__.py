"""The data behind one interface; the only place that looks at the container's type."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from gsppca._typing import FloatArray
from gsppca.data.array import ArrayMatrix
from gsppca.data.base import Matrix
from gsppca.data.dense import DenseMatrix
from gsppca.data.sparse import SparseMatrix

__all__ = ["Matrix", "as_matrix"]


def as_matrix(X: Any, mean: FloatArray | None = None, column_scale: FloatArray | None = None) -> Matrix:
    """Return the centred matrix of some data; a `Matrix` as it is.

    Parameters
    ----------
    X : Matrix, array-like or CSR or CSC matrix of shape (n_samples, n_features)
        Finite numbers. float32 and float64 data is not copied.
    mean, column_scale : ndarray of shape (n_features,), optional
        What to subtract from the columns, and then to multiply them by, instead of centring: for new data, which is to
        be treated like that of a fit. Sums of squares are then not computed.
    """
    if isinstance(X, Matrix):
        return X
    if issparse(X):
        if X.format not in ("csr", "csc"):
            raise ValueError(f"X must be in CSR or CSC format, got {X.format.upper()}. Convert it with X.tocsr().")
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        kind: type[ArrayMatrix] = SparseMatrix
    else:
        kind = DenseMatrix
        X = np.asarray(X)
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise ValueError(
                f"X must be a two-dimensional array of real numbers, got {X.ndim} dimension(s) of dtype {X.dtype}. "
                "Give one row per sample and one column per variable."
            )
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    squares = None if mean is None else np.zeros(X.shape[1])
    return kind(X, mean=mean, column_scale=column_scale, column_squares=squares)
