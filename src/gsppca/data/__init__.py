"""The data behind one interface; the only place that looks at the container's type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gsppca._typing import FloatArray
from gsppca.data.base import Matrix
from gsppca.data.blocks import BlockError, Blocks
from gsppca.data.chunked import ChunkedMatrix
from gsppca.data.lazy import LazyBlocks
from gsppca.data.memory import in_memory, without_zeros
from gsppca.data.stored import StoredBlocks

__all__ = ["BlockError", "Blocks", "Matrix", "as_blocks", "as_matrix", "map_rows"]


def as_matrix(
    X: Any,
    mean: FloatArray | None = None,
    column_scale: FloatArray | None = None,
    column_squares: FloatArray | None = None,
) -> Matrix:
    """Return the centred matrix of some data; a `Matrix` as it is.

    Parameters
    ----------
    X : Matrix, array-like, CSR or CSC matrix, or data in blocks, of shape (n_samples, n_features)
        Finite numbers. float32 and float64 data is not copied; of a large array that is nearly all zero, the entries
        that are not. Data in blocks is a dask array, a zarr array, an HDF5 dataset, the X of a backed AnnData, or a
        `Blocks`.
    mean, column_scale : ndarray of shape (n_features,), optional
        What to subtract from the columns, and then to multiply them by, instead of centring: for new data, which is to
        be treated like that of a fit. Sums of squares are then not computed.
    column_squares : ndarray of shape (n_features,), optional
        Sums of squares of the columns, if these and their means are known.
    """
    if isinstance(X, Matrix):
        return X
    blocks = as_blocks(X)
    shape = np.shape(X) if blocks is None else blocks.shape
    known: dict[str, Any] = {}
    if mean is not None:
        squares = np.zeros(shape[1]) if column_squares is None else column_squares
        known = {"mean": mean, "column_scale": column_scale, "column_squares": squares}
    if blocks is not None:
        return ChunkedMatrix(blocks, **known)
    return in_memory(X if known and column_squares is None else without_zeros(X), **known)


def as_blocks(X: Any) -> Blocks | None:
    """Return data that comes in blocks of rows as such; None if it is in memory as a whole.

    Containers are known by the package that their class comes from: none of these is imported.
    """
    if isinstance(X, Blocks):
        return X
    package = type(X).__module__.partition(".")[0]
    if package in ("dask", "dask_expr"):
        if not isinstance(getattr(X, "chunks", None), tuple):
            raise TypeError(
                f"X must be a dask array, got dask's {type(X).__name__}. Give X.to_dask_array(lengths=True) of a data "
                "frame, or dask.array.from_delayed."
            )
        return LazyBlocks(X)
    on_disk = package in ("zarr", "h5py", "anndata") and hasattr(X, "shape") and hasattr(X, "dtype")
    return StoredBlocks(X) if on_disk else None


def map_rows(X: Any, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
    """Apply a function of some rows to all rows of validated data.

    Parameters
    ----------
    X : array, sparse matrix or Blocks
        Data in memory is given to the function as a whole, data in blocks block by block: lazily, if it is lazy.
    function : callable
        From rows in memory to as many rows, or numbers.
    n_columns : int or None
        Width of the result; None for one number for each row.
    dtype : dtype
        Of the result.
    """
    if isinstance(X, Blocks):
        return X.map_rows(function, n_columns, dtype)
    return function(X).astype(dtype, copy=False)
