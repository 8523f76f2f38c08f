"""A numpy array, in memory or a memmap, read in blocks of rows that fit the cache.

Where the obvious way would fail:

1. ``X - mean`` as a whole is a second X. Each block is centred in a small buffer instead, which costs no
   reading of memory, and keeps all digits, unlike ``X'X - n mean mean'``.
2. ``X @ A`` and then ``X.T @ Y`` reads X twice. Both products of a block are made while it is in the cache.
3. float32 data is converted block by block: sums over thousands of float32 values would lose half the digits.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.base import Matrix
from gsppca.data.threads import map_blocks

BLOCK_BYTES = 2**21  # a centred block: larger ones fall out of the cache, smaller ones slow BLAS down
RADII_BYTES = 2**17  # squared radii: the Bessel kernel needs six more such buffers in the cache
MAX_GROUPS = 16  # partial sums kept at once, whatever the number of threads


class DenseMatrix(Matrix):
    """Centred view of a two-dimensional numpy array.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_all_features)
        float32 or float64, finite; kept by reference, never written to.
    index : ndarray of shape (n_features,), optional
        The columns of X that this matrix is made of; all of them by default. They are gathered block by block.
    mean, column_scale, column_squares : ndarray of shape (n_features,), optional
        As in `Matrix`, when they are known.
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
        self._height = max(1, BLOCK_BYTES // (8 * self.n_features))
        self.mean = self._accurate_mean() if mean is None else mean
        self.column_squares = self._squares() if column_squares is None else column_squares

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
        def block_sum(block: FloatArray) -> FloatArray:
            return np.asarray((axes @ block.T) @ block)

        return self._sum_blocks(block_sum, (len(axes), self.n_features))

    def product(self, axes: FloatArray) -> FloatArray:
        scores = np.empty((self.n_samples, len(axes)))
        for rows in self._row_slices(self._height):
            scores[rows] = self._centred(rows) @ axes.T
        return scores

    def transposed_product(self, scores: FloatArray) -> FloatArray:
        out = np.zeros((scores.shape[1], self.n_features))
        for rows in self._row_slices(self._height):
            out += scores[rows].T @ self._centred(rows)
        return out

    def _gram(self) -> FloatArray:
        # Panels of columns against panels of columns: no partial sum of the size of the result is kept.
        width = max(128, -(-self.n_features // 6))
        panels = [slice(a, a + width) for a in range(0, self.n_features, width)]
        pairs = [(left, right) for i, left in enumerate(panels) for right in panels[i:]]
        height = max(1, BLOCK_BYTES // (16 * width))
        out = np.empty((self.n_features, self.n_features))

        def fill(pair: tuple[slice, slice]) -> None:
            left, right = pair
            total: FloatArray | float = 0.0
            for start in range(0, self.n_samples, height):
                rows = slice(start, start + height)
                block = self._centred(rows, left)
                total += block.T @ (block if left == right else self._centred(rows, right))
            out[left, right] = total
            out[right, left] = out[left, right].T

        for _ in map_blocks(fill, pairs):
            pass
        return out

    def outer_gram(self) -> FloatArray:
        # Over blocks of columns, so that a block of the data is in the cache when it meets itself.
        width = max(1, BLOCK_BYTES // (8 * self.n_samples))
        blocks = [slice(a, a + width) for a in range(0, self.n_features, width)]

        def block_gram(columns: slice) -> FloatArray:
            block = self._centred(slice(None), columns)
            return np.asarray(block @ block.T)

        return self._sum_groups(block_gram, blocks, (self.n_samples, self.n_samples))

    def reduce_radii(
        self, function: Callable[[FloatArray, slice], FloatArray], order: IntArray, sizes: IntArray
    ) -> FloatArray:
        height = min(max(-(-self.n_samples // 8), 64), 512)
        width = max(1, RADII_BYTES // (8 * height))
        last_size = int(sizes[-1])
        # Each chunk of columns along the ranking: its bounds, and the sizes that end inside it.
        starts = range(0, last_size, width)
        chunks = [(a, min(a + width, last_size), np.searchsorted(sizes, [a + 1, a + width + 1])) for a in starts]

        def rows_value(rows: slice) -> FloatArray:
            values, carried = [], np.zeros(1)
            for first, last, (low, high) in chunks:
                squares = self._squares_along(rows, order[first:last])
                squares[0] += carried
                np.cumsum(squares, axis=0, out=squares)
                carried = squares[-1].copy()
                if high > low:
                    ends = sizes[low:high] - first - 1
                    radii = squares if len(ends) == len(squares) else squares[ends]
                    values.append(function(radii, slice(int(low), int(high))))
            return np.concatenate(values, axis=1)

        return np.asarray(sum(map_blocks(rows_value, self._row_slices(height))))

    def _accurate_mean(self) -> FloatArray:
        # The second pass removes the rounding of the first, which matters when a mean dwarfs its spread.
        self.mean = np.zeros(self.n_features)
        first = self._sum_blocks(lambda block: block.sum(axis=0), (self.n_features,), scaled=False) / self.n_samples
        self.mean = first
        return first + self._sum_blocks(lambda block: block.sum(axis=0), (self.n_features,), False) / self.n_samples

    def _squares(self) -> FloatArray:
        squares = self._sum_blocks(lambda block: np.einsum("ij,ij->j", block, block), (self.n_features,))
        # A constant column may keep the rounding of its mean: what is below it is no variation.
        scale = 1.0 if self.column_scale is None else self.column_scale
        rounding = 8 * np.finfo(np.float64).eps * np.abs(self.mean * scale)
        return np.where(np.sqrt(squares / self.n_samples) <= rounding, 0.0, squares)

    def _centred(self, rows: slice, columns: slice = slice(None), scaled: bool = True) -> FloatArray:
        """A block of Z, C-ordered float64, that the caller may overwrite."""
        raw = self.X[rows, columns] if self.index is None else self.X[rows].take(self.index[columns], axis=1)
        block: FloatArray = np.subtract(raw, self.mean[columns], dtype=np.float64, order="C")
        if scaled and self.column_scale is not None:
            block *= self.column_scale[columns]
        return block

    def _squares_along(self, rows: slice, columns: IntArray) -> FloatArray:
        """Squares of Z at some rows and columns, transposed: sums over columns then add contiguous rows."""
        gathered = columns if self.index is None else self.index[columns]
        block = self.X[rows].take(gathered, axis=1).T.astype(np.float64, order="C")
        block -= self.mean[columns, None]
        if self.column_scale is not None:
            block *= self.column_scale[columns, None]
        return np.square(block, out=block)

    def _row_slices(self, height: int) -> list[slice]:
        n_blocks = -(-self.n_samples // height)
        n_blocks += n_blocks % 2 if n_blocks > 1 else 0  # an even number shares well among cores
        edges = np.linspace(0, self.n_samples, n_blocks + 1).astype(int).tolist()
        return [slice(a, b) for a, b in pairwise(edges) if b > a]

    def _sum_blocks(
        self, function: Callable[[FloatArray], FloatArray], shape: tuple[int, ...], scaled: bool = True
    ) -> FloatArray:
        return self._sum_groups(
            lambda rows: function(self._centred(rows, scaled=scaled)), self._row_slices(self._height), shape
        )

    def _sum_groups(
        self, function: Callable[[Any], FloatArray], blocks: list[Any], shape: tuple[int, ...]
    ) -> FloatArray:
        """Sum `function` over blocks: within groups one after the other, then over groups in order."""

        def group_sum(group: list[Any]) -> FloatArray:
            total = function(group[0])
            for block in group[1:]:
                total += function(block)
            return total

        # As many partial sums as take an eighth of the memory of X; two are always worth it.
        affordable = self.X.size // (8 * int(np.prod(shape)))
        n_groups = min(max(affordable, 2), MAX_GROUPS, len(blocks))
        edges = np.linspace(0, len(blocks), n_groups + 1).astype(int).tolist()
        groups = [blocks[a:b] for a, b in pairwise(edges)]
        total = np.zeros(shape)
        for value in map_blocks(group_sum, groups):
            total += value
        return total
