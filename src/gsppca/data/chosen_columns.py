"""Some columns of the data, and their products with all of them, each in one pass."""

from __future__ import annotations

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.data.array import ArrayMatrix
from gsppca.data.base import Matrix
from gsppca.data.chunked import ChunkedMatrix, below
from gsppca.data.sparse import SparseMatrix

BLOCK_BYTES = 2**20  # of centred rows treated at a time


def column_values(matrix: Matrix, chosen: IntArray) -> FloatArray:
    """Return some columns of Z, shape (n_samples, n_chosen), in the order given; for few columns only."""
    kept = np.zeros(matrix.n_features, dtype=bool)
    kept[chosen] = True
    part = matrix.columns(kept)
    if isinstance(part, ChunkedMatrix):
        values = part._sum(_block_values, combine=below)
    else:
        assert isinstance(part, ArrayMatrix)
        values = _block_values(part, slice(None))
    in_order = bool((chosen[1:] > chosen[:-1]).all())
    return values if in_order else values[:, np.searchsorted(np.flatnonzero(kept), chosen)]


def _block_values(part: ArrayMatrix, _: slice) -> FloatArray:
    return part._centred(slice(None)).copy()


def column_products(matrix: Matrix, chosen: IntArray) -> FloatArray:
    """Return products of some columns of Z with all columns, shape (n_chosen, n_features), in one pass."""
    if isinstance(matrix, ChunkedMatrix):
        return matrix._sum(_block_column_products, chosen)
    assert isinstance(matrix, ArrayMatrix)
    return _block_column_products(matrix, slice(0, matrix.n_samples), chosen)


def _block_column_products(part: ArrayMatrix, _: slice, chosen: IntArray) -> FloatArray:
    if isinstance(part, SparseMatrix):
        return part.column_products(chosen)
    height = max(BLOCK_BYTES // (8 * part.n_features), len(chosen) // 2, 1)
    total = np.zeros((len(chosen), part.n_features))
    for start in range(0, part.n_samples, height):
        block = part._centred(slice(start, min(start + height, part.n_samples)))
        total += block[:, chosen].T @ block
    return total
