"""The data behind one interface; the only place that looks at the container's type."""

from __future__ import annotations

from typing import Any

import numpy as np

from gsppca.data.base import Matrix
from gsppca.data.dense import DenseMatrix

__all__ = ["Matrix", "as_matrix"]


def as_matrix(X: Any) -> Matrix:
    """Return the centred matrix of some data; a `Matrix` as it is.

    Parameters
    ----------
    X : Matrix or array-like of shape (n_samples, n_features)
        Finite numbers. float32 and float64 arrays are not copied.
    """
    if isinstance(X, Matrix):
        return X
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"X must be a two-dimensional array of real numbers, got {array.ndim} dimension(s) of dtype {array.dtype}. "
            "Give one row per sample and one column per variable."
        )
    return DenseMatrix(array if array.dtype in (np.float32, np.float64) else array.astype(np.float64))
