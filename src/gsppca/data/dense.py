"""A numpy array, in memory or a memmap, read in blocks of rows that fit the cache.

Where the obvious way would fail:

1. ``X - mean`` as a whole is a second X. Each block is centred in a small buffer instead, which costs no
   reading of memory, and keeps all digits, unlike ``X'X - n mean mean'``.
2. ``X @ A`` and then ``X.T @ Y`` reads X twice. Both products of a block are made while it is in the cache.
3. Blocks keep the memory order of X: columns of data frames are often contiguous, and transposing costs more than BLAS.
4. float32 data is converted block by block: sums over thousands of float32 values would lose half the digits.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.base import Matrix
from gsppca.data.threads import map_blocks

BLOCK_BYTES = 2**20  # a centred block: larger ones fall out of the cache, smaller ones slow BLAS down
RADII_BYTES = 2**17  # squared radii: the Bessel kernel needs several such buffers in the cache
RADII_ROWS = 512
RANKED_BYTES = 2**21  # rows gathered along a ranking
MAX_GROUPS = 16  # partial sums kept at once, whatever the number of threads


ALL = slice(None)

_local = threading.local()


def _buffer(shape: tuple[int, ...]) -> FloatArray:
    """Memory of this thread for one block: fresh memory for every block would cost more than filling it."""
    size = math.prod(shape)
    if getattr(_local, "buffer", np.empty(0)).size < size:
        _local.buffer = np.empty(size)
    return _local.buffer[:size].reshape(shape)


class DenseMatrix(Matrix):
    """Centred view of a two-dimensional numpy array.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_all_features)
        float32 or float64, finite; kept by reference, never written to.
    index : ndarray of shape (n_features,), optional
        The columns of X that this matrix is made of; all of them by default. They are gathered block by block.
    mean, column_squares : ndarray of shape (n_features,), optional
        As in `Matrix`, when both are known.
    column_scale : ndarray of shape (n_features,), optional
        As in `Matrix`; goes with known means and squares.
    """

    def __init__(
        self,
        X: npt.NDArray[Any],
        index: IntArray | None = None,
        *,
        mean: FloatArray | None = None,
        column_scale: FloatArray | None = None,
        column_squares: FloatArray | None = None,
    ):
        self.X = X
        self.index = index
        self.n_samples = len(X)
        self.n_features = X.shape[1] if index is None else len(index)
        self.column_scale = column_scale
        self._by_column = X.flags.f_contiguous and not X.flags.c_contiguous
        if mean is None or column_squares is None:
            mean, column_squares = self._moments()
        self.mean, self.column_squares = mean, column_squares

    def scaled(self, column_scale: FloatArray) -> DenseMatrix:
        old = 1.0 if self.column_scale is None else self.column_scale
        squares = self.column_squares * column_scale**2
        return DenseMatrix(self.X, self.index, mean=self.mean, column_scale=old * column_scale, column_squares=squares)

    def columns(self, kept: BoolArray) -> DenseMatrix:
        part = DenseMatrix(
            self.X,
            np.flatnonzero(kept) if self.index is None else self.index[kept],
            mean=self.mean[kept],
            column_scale=None if self.column_scale is None else self.column_scale[kept],
            column_squares=self.column_squares[kept],
        )
        if "gram" in self.__dict__:
            part.gram = self.gram[np.ix_(kept, kept)]
        return part

    def _gram_product(self, axes: FloatArray) -> FloatArray:
        if self._by_column:
            return self.transposed_product(self.product(axes))
        return self._sum_over(self._row_slices(), lambda rows: _both_products(axes, self._centred(rows)))

    def product(self, axes: FloatArray) -> FloatArray:
        if self._by_column:
            return self._sum_over(self._column_slices(), lambda part: self._centred(ALL, part) @ axes[:, part].T)
        return np.concatenate(list(map_blocks(lambda rows: self._centred(rows) @ axes.T, self._row_slices())))

    def transposed_product(self, scores: FloatArray) -> FloatArray:
        return self._over_columns(lambda rows, block: scores[rows].T @ block)

    def _gram(self) -> FloatArray:
        width = max(128, -(-self.n_features // 6))
        height = max(1, BLOCK_BYTES // (16 * width))
        panels = [slice(a, a + width) for a in range(0, self.n_features, width)]
        rows = [slice(a, a + height) for a in range(0, self.n_samples, height)]
        return _symmetric(self.n_features, panels, rows, lambda panel, part: self._centred(part, panel).T)

    def outer_gram(self) -> FloatArray:
        height = max(64, -(-self.n_samples // 6))
        width = max(1, BLOCK_BYTES // (16 * height))
        panels = [slice(a, a + height) for a in range(0, self.n_samples, height)]
        columns = [slice(a, a + width) for a in range(0, self.n_features, width)]
        return _symmetric(self.n_samples, panels, columns, self._centred)

    def reduce_radii(
        self, function: Callable[[FloatArray, slice], FloatArray], order: IntArray, sizes: IntArray
    ) -> FloatArray:
        height = max(16, min(RADII_ROWS, -(-self.n_samples // 8), RANKED_BYTES // (8 * self.n_features)))
        width = max(1, RADII_BYTES // (8 * height))
        last_size = int(sizes[-1])
        # Each chunk of columns along the ranking: its bounds, and the sizes that end inside it.
        starts = range(0, last_size, width)
        chunks = [(a, min(a + width, last_size), np.searchsorted(sizes, [a + 1, a + width + 1])) for a in starts]

        def rows_value(rows: slice) -> FloatArray:
            # Columns contiguous, so that each is gathered as a piece, and sums over columns add contiguous rows.
            block = self._centred(rows, by_column=True).T
            np.square(block, out=block)
            values, carried = [], np.zeros(1)
            for first, last, (low, high) in chunks:
                squares = block[order[first:last]]
                squares[0] += carried
                np.cumsum(squares, axis=0, out=squares)
                carried = squares[-1].copy()
                if high > low:
                    ends = sizes[low:high] - first - 1
                    radii = squares if len(ends) == len(squares) else squares[ends]
                    values.append(function(radii, slice(int(low), int(high))))
            return np.concatenate(values, axis=1)

        return np.asarray(sum(map_blocks(rows_value, self._row_slices(height))))

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Means of the columns, and their sums of squares around them."""
        self.mean = np.zeros(self.n_features)
        self.mean = self._over_columns(lambda _, block: block.sum(axis=0)[None])[0] / self.n_samples
        # Around the rounded means, the second pass corrects what the first lost: it matters when a mean dwarfs its
        # spread.
        sums, squares = self._over_columns(
            lambda _, block: np.array([block.sum(axis=0), np.einsum("ij,ij->j", block, block)])
        )
        with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses squares that are not finite
            squares = np.maximum(squares - sums * (sums / self.n_samples), 0.0)
        mean = self.mean + sums / self.n_samples
        # A constant column may keep the rounding of its mean: what is below it is no variation.
        rounding = 8 * np.finfo(np.float64).eps * np.abs(mean)
        return mean, np.where(np.sqrt(squares / self.n_samples) <= rounding, 0.0, squares)

    def _centred(self, rows: slice, columns: slice = ALL, by_column: bool | None = None) -> FloatArray:
        """A float64 block of Z, in the memory order of X or that asked; the next block of this thread overwrites it."""
        by_column = self._by_column if by_column is None else by_column
        if self.index is None:
            raw = self.X[rows, columns]
        elif self._by_column:
            raw = self.X.T[self.index[columns], rows].T
        else:
            raw = self.X[rows].take(self.index[columns], axis=1)
        out = _buffer(raw.shape[::-1]).T if by_column else _buffer(raw.shape)
        block = np.subtract(raw, self.mean[columns], out=out, dtype=np.float64)
        if self.column_scale is not None:
            block *= self.column_scale[columns]
        return block

    def _over_columns(self, function: Callable[[slice, FloatArray], FloatArray]) -> FloatArray:
        """Sum ``function(rows, block)``, of shape (n_values, n_block_columns), over the rows, for all columns."""
        if self._by_column:
            parts = map_blocks(lambda part: function(ALL, self._centred(ALL, part)), self._column_slices())
            return np.concatenate(list(parts), axis=1)
        return self._sum_over(self._row_slices(), lambda rows: function(rows, self._centred(rows)))

    def _row_slices(self, height: int | None = None) -> list[slice]:
        return _slices(self.n_samples, height or max(1, BLOCK_BYTES // (8 * self.n_features)))

    def _column_slices(self) -> list[slice]:
        return _slices(self.n_features, max(1, BLOCK_BYTES // (8 * self.n_samples)))

    def _sum_over(self, blocks: list[slice], function: Callable[[slice], FloatArray]) -> FloatArray:
        """Sum `function` over blocks: within groups one after the other, then over groups in order."""

        def group_sum(group: list[slice]) -> FloatArray:
            total = function(group[0])
            for block in group[1:]:
                total += function(block)
            return total

        # The first block tells the size of a partial sum; as many are kept as take an eighth of the memory of X.
        first = function(blocks[0])
        rest = blocks[1:]
        n_groups = min(max(self.X.size // (8 * first.size), 2), MAX_GROUPS, len(rest))
        edges = np.linspace(0, len(rest), n_groups + 1).astype(int).tolist()
        for value in map_blocks(group_sum, [rest[a:b] for a, b in pairwise(edges)]):
            first += value
        return first


def _slices(length: int, width: int) -> list[slice]:
    """Cut a length in slices of about equal width; an even number of them, which two or four threads share well."""
    count = -(-length // width)
    count += count % 2 if count > 1 else 0
    edges = np.linspace(0, length, count + 1).astype(int).tolist()
    return [slice(a, b) for a, b in pairwise(edges) if b > a]


def _both_products(axes: FloatArray, block: FloatArray) -> FloatArray:
    return np.asarray((axes @ block.T) @ block)


def _symmetric(
    order: int, panels: list[slice], parts: list[slice], block_of: Callable[[slice, slice], FloatArray]
) -> FloatArray:
    """Return ``B B'`` for B of `order` rows, given as blocks: panels of rows against panels of rows, part by part.

    No partial sum of the size of the result is kept, and only one half of it is computed.
    """
    out = np.empty((order, order))

    def fill(pair: tuple[slice, slice]) -> None:
        left, right = pair
        total: FloatArray | float = 0.0
        for part in parts:
            block = block_of(left, part)
            if left is right:
                total += block @ block.T
            else:
                kept = block.copy()  # the next block of this thread takes its place
                total += kept @ block_of(right, part).T
        out[left, right] = total
        out[right, left] = out[left, right].T

    for _ in map_blocks(fill, [(left, right) for i, left in enumerate(panels) for right in panels[i:]]):
        pass
    return out
