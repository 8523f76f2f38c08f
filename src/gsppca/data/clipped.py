"""Elementwise functions of columns, for every container: their sums over the rows, and clipped copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gsppca._typing import FloatArray, IntArray
from gsppca.data import blocks
from gsppca.data.blocks import Blocks, Combine, Task, ready

BLOCK_BYTES = 2**19  # of rows, or of contiguous columns, treated at a time: with its copies, what a cache holds
ENTRY_BLOCK = 2**16  # entries of sparse data treated at a time

Elementwise = Callable[..., Iterable[FloatArray]]


def column_sums(X: Any, function: Elementwise, *parameters: FloatArray, columns: IntArray | None = None) -> FloatArray:
    """Sum an elementwise function over the rows of each column, in one pass over the data.

    `row_and_column_sums` sums over the columns of each row in the same pass.

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
    return row_and_column_sums(X, function, *parameters, columns=columns, by_row=())[0]


def row_and_column_sums(
    X: Any, function: Elementwise, *parameters: FloatArray, columns: IntArray | None = None, by_row: tuple[int, ...]
) -> tuple[FloatArray, FloatArray]:
    """Sum an elementwise function over rows, as `column_sums` does, and some of its values over columns too.

    Parameters
    ----------
    X, function, *parameters, columns
        As in `column_sums`.
    by_row : tuple of int
        Which of the arrays that the function yields are summed by row.

    Returns
    -------
    sums : ndarray of shape (n_sums, n_columns)
    row_sums : ndarray of shape (len(by_row), n_samples)
    """
    chosen = columns if columns is None or len(columns) < X.shape[1] else None
    task = BlockSums(function, parameters, chosen, by_row)
    return X.fold(task, _combine_sums) if isinstance(X, Blocks) else task(X, 0)


def held_columns(X: Any, columns: IntArray) -> FloatArray | None:
    """Return some columns of data in blocks, in one pass, if they are small enough to be held in memory.

    Parameters
    ----------
    X : ndarray, CSR or CSC matrix, or Blocks of shape (n_samples, n_features)
    columns : ndarray of shape (n_columns,)
        Indices of the columns wanted, ascending.

    Returns
    -------
    values : ndarray of shape (n_samples, n_columns) or None
        None if they are too large, or if X is held as a whole.
    """
    if not isinstance(X, Blocks) or X.is_small or X.shape[0] * len(columns) * X.dtype.itemsize > blocks.HELD_BYTES:
        return None
    values: FloatArray = X.fold(_Columns(columns), _combine_rows)
    return values


def clip_columns(X: Any, low: FloatArray, high: FloatArray) -> Any:
    """Return X with every column clipped, and shifted so that what zero becomes is zero: sparse data stays sparse.

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

    def _fold(self, task: Task, combine: Combine) -> Any:
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
class BlockSums:
    """The sums of one block, by column and by row."""

    function: Elementwise
    parameters: tuple[FloatArray, ...]
    columns: IntArray | None
    by_row: tuple[int, ...]

    def __call__(self, block: Any, _: int) -> tuple[FloatArray, FloatArray]:
        if self.columns is not None:
            block = block[:, self.columns]
        if issparse(block):
            return self._of_sparse(block)
        (height, width), by_column = block.shape, block.flags.f_contiguous and not block.flags.c_contiguous
        size = max(1, BLOCK_BYTES // (8 * (height if by_column else width)))
        totals: list[FloatArray] = []
        row_sums = np.zeros((len(self.by_row), height))
        for start in range(0, width if by_column else height, size):
            some = slice(start, start + size)
            rows, columns = (slice(None), some) if by_column else (some, slice(None))
            values, sums = block[rows, columns].astype(np.float64), []
            ones = np.ones(len(values))
            for number, one in enumerate(self.function(values, *(numbers[columns] for numbers in self.parameters))):
                sums.append(ones @ one)
                if number in self.by_row:
                    row_sums[self.by_row.index(number), rows] += one.sum(axis=1)
            totals = [*totals, np.array(sums)] if by_column or not totals else [totals[0] + sums]
        return np.concatenate(totals, axis=1), row_sums

    def _of_sparse(self, block: Any) -> tuple[FloatArray, FloatArray]:
        """Stored entries one by one, some of them at a time; all zeros of a column at once."""
        columns, (height, width) = columns_of(block), block.shape
        absent = height - np.bincount(columns, minlength=width)
        zeros = [one.copy() for one in self.function(np.zeros(width), *self.parameters)]
        total = np.array([absent * one for one in zeros])
        row_sums = np.outer([zeros[number].sum() for number in self.by_row], np.ones(height))
        for start in range(0, block.nnz, ENTRY_BLOCK):
            part = slice(start, min(start + ENTRY_BLOCK, block.nnz))
            own = columns[part]
            places = _rows_of(block, part) if self.by_row else own
            values = self.function(block.data[part].astype(np.float64), *(one[own] for one in self.parameters))
            for number, one in enumerate(values):
                total[number] += np.bincount(own, weights=one, minlength=width)
                if number in self.by_row:
                    more = np.bincount(places, weights=one - zeros[number][own], minlength=height)
                    row_sums[self.by_row.index(number)] += more
        return total, row_sums


@dataclass(frozen=True)
class _Columns:
    """Some columns of one block, dense."""

    columns: IntArray

    def __call__(self, block: Any, _: int) -> FloatArray:
        values = block[:, self.columns]
        return values.toarray() if issparse(values) else values


def _combine_rows(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.concatenate([one, other])


def _combine_sums(
    one: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    return one[0] + other[0], np.concatenate([one[1], other[1]], axis=1)


@dataclass(frozen=True)
class _Clip:
    """Clip the columns of a block; sent to workers as it is."""

    low: FloatArray
    high: FloatArray

    def __call__(self, block: Any) -> Any:
        low, high = self.low.astype(block.dtype), self.high.astype(block.dtype)
        shift = np.clip(np.zeros_like(low), low, high)  # of zeros outside the bounds
        if not issparse(block):
            clipped = np.maximum(block, low)  # faster than numpy.clip, and the same
            np.minimum(clipped, high, out=clipped)
            return np.subtract(clipped, shift, out=clipped) if shift.any() else clipped
        clipped = block.copy()
        columns = columns_of(block)
        clipped.data = np.clip(block.data, low[columns], high[columns]) - shift[columns]
        return clipped


def columns_of(block: Any) -> IntArray:
    """Column of every stored entry."""
    if block.format == "csr":
        return np.asarray(block.indices)
    return np.repeat(np.arange(block.shape[1]), np.diff(block.indptr))


def _rows_of(block: Any, part: slice) -> IntArray:
    """Row of some of the stored entries."""
    if block.format == "csc":
        return np.asarray(block.indices[part])
    return np.searchsorted(block.indptr, np.arange(part.start, part.stop), side="right") - 1
