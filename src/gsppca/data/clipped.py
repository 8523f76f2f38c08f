"""Elementwise functions of columns, for every container: their sums over the rows, and clipped copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gsppca._typing import FloatArray, IntArray
from gsppca.data.blocks import Blocks, Combine, Task, ready

BLOCK_BYTES = 2**21  # of rows treated at a time
ENTRY_BLOCK = 2**16  # entries of sparse data treated at a time

Elementwise = Callable[..., Iterable[FloatArray]]


def column_sums(X: Any, function: Elementwise, *parameters: FloatArray, columns: IntArray | None = None) -> FloatArray:
    """Sum an elementwise function over the rows of each column, in one pass over the data.

    Parameters
    ----------
    X : ndarray, CSR or CSC matrix, or Blocks of shape (n_samples, n_features)
        Finite numbers.
    function : callable
        ``function(values, *parameters)`` gets float64 values and the parameters of their columns, which broadcast, and
        yields arrays of the shape of the values, each of which is summed before the next is asked for: it may use the
        same memory, and that of the values. It must be importable, so that workers can be sent it.
    *parameters : ndarray of shape (n_columns,)
        Numbers of each column.
    columns : ndarray of shape (n_columns,), optional
        Indices of the columns wanted, ascending; all by default.

    Returns
    -------
    sums : ndarray of shape (n_sums, n_columns)
    """
    task = _ColumnSums(function, parameters, columns if columns is None or len(columns) < X.shape[1] else None)
    return X.fold(task) if isinstance(X, Blocks) else task(X, 0)


def clip_columns(X: Any, low: FloatArray, high: FloatArray) -> Any:
    """Return X with every column clipped; columns may be shifted by a constant, so that sparse data stays sparse.

    Parameters
    ----------
    X : ndarray, CSR or CSC matrix, or Blocks of shape (n_samples, n_features)
        Not changed; blocks are clipped when they are read.
    low, high : ndarray of shape (n_features,)
    """
    clip = _Clip(low, high)
    return MappedBlocks(X, clip) if isinstance(X, Blocks) else clip(X)


class MappedBlocks(Blocks):
    """Blocks of rows, each treated by a function when it is read.

    Parameters
    ----------
    blocks : Blocks
    function : callable
        From a block in memory to one of the same shape.
    """

    def __init__(self, blocks: Blocks, function: Callable[[Any], Any]):
        super().__init__(blocks.edges, blocks.shape[1], blocks.dtype)
        self.blocks, self.function = blocks, function

    def block(self, number: int) -> Any:
        first, last = self.edges[number : number + 2].tolist()
        return self.function(ready(self.blocks.block(number), number, (last - first, self.shape[1])))

    def _fold(self, task: Task, combine: Combine) -> FloatArray:
        return self.blocks.fold(_Then(self.function, task), combine)

    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
        return self.blocks.map_rows(_Then(self.function, function), n_columns, dtype)


@dataclass(frozen=True)
class _Then:
    """One function after the other; sent to workers as it is."""

    first: Callable[[Any], Any]
    second: Callable[..., Any]

    def __call__(self, block: Any, *arguments: Any) -> Any:
        return self.second(self.first(block), *arguments)


@dataclass(frozen=True)
class _ColumnSums:
    """The sums of one block."""

    function: Elementwise
    parameters: tuple[FloatArray, ...]
    columns: IntArray | None

    def __call__(self, block: Any, _: int) -> FloatArray:
        if self.columns is not None:
            block = block[:, self.columns]
        if issparse(block):
            return self._of_sparse(block)
        height = max(1, BLOCK_BYTES // (8 * block.shape[1]))
        parts = (block[start : start + height] for start in range(0, block.shape[0], height))
        total: FloatArray = np.zeros(())
        for part in parts:
            total = total + np.array(
                [one.sum(axis=0) for one in self.function(part.astype(np.float64), *self.parameters)]
            )
        return total

    def _of_sparse(self, block: Any) -> FloatArray:
        """Stored entries one by one, some of them at a time; all zeros of a column at once."""
        columns, width = _columns_of(block), block.shape[1]
        absent = block.shape[0] - np.bincount(columns, minlength=width)
        total = np.array([absent * one for one in self.function(np.zeros(width), *self.parameters)])
        for start in range(0, block.nnz, ENTRY_BLOCK):
            part = slice(start, min(start + ENTRY_BLOCK, block.nnz))
            own = columns[part]
            values = self.function(block.data[part].astype(np.float64), *(one[own] for one in self.parameters))
            total += np.array([np.bincount(own, weights=one, minlength=width) for one in values])
        return total


@dataclass(frozen=True)
class _Clip:
    """Clip the columns of a block; sent to workers as it is."""

    low: FloatArray
    high: FloatArray

    def __call__(self, block: Any) -> Any:
        if not issparse(block):
            return np.clip(block, self.low.astype(block.dtype), self.high.astype(block.dtype))
        clipped = block.copy()
        columns = _columns_of(block)
        # Zeros outside the bounds would all become one number: subtracted from the column, it is zero again.
        shift = np.clip(0.0, self.low, self.high)
        clipped.data = (np.clip(block.data, self.low[columns], self.high[columns]) - shift[columns]).astype(block.dtype)
        return clipped


def _columns_of(block: Any) -> IntArray:
    """Column of every stored entry."""
    if block.format == "csr":
        return np.asarray(block.indices)
    return np.repeat(np.arange(block.shape[1]), np.diff(block.indptr))
