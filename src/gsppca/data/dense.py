"""A numpy array, in memory or a memmap: centred implicitly, or block by block, but never as a whole.

Where the obvious way would fail:

1. ``X - mean`` is a second X. Products with the data are corrected for the means instead, by BLAS alone, where
   that keeps the digits: `DIRECT_RATIO`. Otherwise, and for all Gram matrices, whose correction would lose twice as
   many, blocks are centred one after the other in a small buffer.
2. Scales and selections of columns go into the small factor of a product, not into the data.
3. Blocks keep the memory order of X: columns of data frames are often contiguous, and transposing costs more than BLAS.
4. BLAS shares large products among the cores; the rest is not shared. Threads over blocks of rows were tried:
   elementwise numpy calls are too short to pass the interpreter's lock around, or, made longer, wait for memory.
5. float32 data is converted block by block: sums over thousands of float32 values would lose half the digits.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.linalg.blas import dsyrk

from gsppca._threads import in_block, threads_for
from gsppca._typing import FloatArray, IntArray
from gsppca.data.array import ArrayMatrix, Squares, without_rounding

BLOCK_BYTES = 2**21  # a centred block
MIRRORED = 256  # columns of a triangle copied at a time
FEW_ROWS = 32  # of a block: its products would cost less than the way through it
DIRECT_RATIO = 1e3  # largest mean, in standard deviations, that a product may be corrected for: costs three digits

ALL = slice(None)

_local = threading.local()  # a fit may run in several threads at once


def _buffer(shape: tuple[int, ...]) -> FloatArray:
    """Memory of this thread for one block: fresh memory for every block would cost more than filling it."""
    size = math.prod(shape)
    if getattr(_local, "buffer", np.empty(0)).size < size:
        _local.buffer = np.empty(size)
    return _local.buffer[:size].reshape(shape)


class DenseMatrix(ArrayMatrix):
    """Centred view of a two-dimensional numpy array, C- or Fortran-ordered."""

    @property
    def _by_column(self) -> bool:
        flags = self.X.flags
        return bool(flags.f_contiguous and not flags.c_contiguous)

    @property
    def _by_width(self) -> bool:
        """Whether blocks are of all rows and some columns: of contiguous columns, or where rows are few and long."""
        return self._by_column or BLOCK_BYTES // (8 * self.n_features) < min(self.n_samples, FEW_ROWS)

    @cached_property
    def _direct(self) -> bool:
        """Whether products are made with X itself."""
        whole = self.index is None or 2 * len(self.index) >= self.X.shape[1]
        contiguous = self.X.flags.c_contiguous or self.X.flags.f_contiguous
        if not (whole and contiguous and self.X.dtype == np.float64):
            return False
        scale = 1.0 if self.column_scale is None else self.column_scale
        deviations = np.sqrt(self.column_squares / self.n_samples)
        return bool(np.all(np.abs(self.mean * scale) <= DIRECT_RATIO * deviations))

    @property
    def single_products_are_cheap(self) -> bool:
        return self._direct and not isinstance(self.X, np.memmap)

    def _gram_product(self, axes: FloatArray) -> FloatArray:
        if self._direct or self._by_width:
            return self.transposed_product(self.product(axes))
        # One reading of the data: both products of a block while it is in the cache.
        return self._sum_over(self._row_slices(), lambda rows: _both_products(axes, self._centred(rows)))

    def product(self, axes: FloatArray) -> FloatArray:
        if self._direct:
            wide, shifts = self._outward(axes)
            with threads_for(len(wide) * self.X.size):
                images = wide @ self.X.T
            return (images - shifts[:, None]).T  # the other way round BLAS takes longer if X is by columns
        if self._by_width:
            return self._sum_over(self._column_slices(), lambda part: self._centred(ALL, part) @ axes[:, part].T)
        return np.concatenate([self._centred(rows) @ axes.T for rows in self._row_slices()])

    def transposed_product(self, scores: FloatArray) -> FloatArray:
        if self._direct:
            with threads_for(scores.shape[1] * self.X.size):
                images = scores.T @ self.X
            return self._inward(images, scores.sum(axis=0))
        if self._by_width:
            parts = [scores.T @ self._centred(ALL, part) for part in self._column_slices()]
            return np.concatenate(parts, axis=1)
        return self._sum_over(self._row_slices(), lambda rows: scores[rows].T @ self._centred(rows))

    def row_squares(self) -> FloatArray:
        return np.concatenate([np.square(self._centred(rows)).sum(axis=1) for rows in self._row_slices()])

    def _gram(self) -> FloatArray:
        # Blocks as tall as half their width: a thinner one would cost a whole Gram matrix of sums for few products.
        blocks = self._row_slices(max(BLOCK_BYTES // (8 * self.n_features), self.n_features // 2))
        if len(blocks) == 1:
            return _square(self._centred(ALL).T)
        total = np.zeros((self.n_features, self.n_features))
        for rows in blocks:
            add_square(total, self._centred(rows))
        return mirrored(total)

    def _outer_gram(self) -> FloatArray:
        width = max(BLOCK_BYTES // (8 * self.n_samples), self.n_samples // 2)
        return self._sum_over(self._column_slices(width), lambda part: _square(self._centred(ALL, part)))

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Means of the columns, and their sums of squares around them."""
        self.mean = np.zeros(self.n_features)
        self.mean = self._column_sums(lambda block: block.sum(axis=0)[None])[0] / self.n_samples
        # Around the rounded means, the second pass corrects what the first lost: it matters when a mean dwarfs its
        # spread.
        sums, squares = self._column_sums(
            lambda block: np.array([block.sum(axis=0), np.einsum("ij,ij->j", block, block)])
        )
        with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses squares that are not finite
            squares = np.maximum(squares - sums * (sums / self.n_samples), 0.0)
        mean = self.mean + sums / self.n_samples
        return mean, without_rounding(squares, mean, self.n_samples)

    def _squares_along(self, ranked: IntArray, rows: slice) -> Squares:
        def squares(first: int, last: int) -> FloatArray:
            columns = ranked[first:last]
            raw = self.X.T[columns if self.index is None else self.index[columns], rows]
            block: FloatArray = np.subtract(raw, self.mean[columns, None], out=_buffer(raw.shape), dtype=np.float64)
            if self.column_scale is not None:
                block *= self.column_scale[columns, None]
            return np.square(block, out=block)

        return squares

    def _centred(self, rows: slice, columns: slice = ALL) -> FloatArray:
        """A float64 block of Z, in the memory order of X; the next block of this thread overwrites it."""
        if self.index is None:
            raw = self.X[rows, columns]
        elif self._by_column:
            raw = self.X.T[self.index[columns], rows].T
        else:
            raw = self.X[rows].take(self.index[columns], axis=1)
        out = _buffer(raw.shape[::-1]).T if self._by_column else _buffer(raw.shape)
        block = np.subtract(raw, self.mean[columns], out=out, dtype=np.float64)
        if self.column_scale is not None:
            block *= self.column_scale[columns]
        return block

    def _column_sums(self, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Sum ``function(block)``, of shape (n_values, n_block_columns), over the rows, for all columns."""
        if self._by_column:
            return np.concatenate([function(self._centred(ALL, part)) for part in self._column_slices()], axis=1)
        return self._sum_over(self._row_slices(), lambda rows: function(self._centred(rows)))

    def _row_slices(self, height: int | None = None) -> list[slice]:
        return _slices(self.n_samples, height or max(1, BLOCK_BYTES // (8 * self.n_features)))

    def _column_slices(self, width: int | None = None) -> list[slice]:
        return _slices(self.n_features, width or max(1, BLOCK_BYTES // (8 * self.n_samples)))

    @staticmethod
    def _sum_over(blocks: list[slice], function: Callable[[slice], FloatArray]) -> FloatArray:
        total = function(blocks[0])
        for block in blocks[1:]:
            total += function(block)
        return total


def _slices(length: int, width: int) -> list[slice]:
    """Cut a length in slices of about equal width; an even number of them."""
    count = -(-length // width)
    count += count % 2 if count > 1 else 0
    edges = np.linspace(0, length, count + 1).astype(int).tolist()
    return [slice(a, b) for a, b in pairwise(edges) if b > a]


def add_square(total: FloatArray, rows: FloatArray) -> None:
    """Add ``rows' rows`` to a matrix in place, or, if that is faster, to its lower triangle only: see `mirrored`.

    `dsyrk` of scipy needs no second matrix, which could be as large as the data, but holds the interpreter's lock:
    threads that share blocks would wait for each other.
    """
    if in_block():
        total += rows.T @ rows
        return
    by_row = rows.flags.c_contiguous
    with threads_for(rows.size * len(total)):
        dsyrk(1.0, rows.T if by_row else rows, 1.0, total.T, trans=not by_row, overwrite_c=True)


def mirrored(square: FloatArray) -> FloatArray:
    """Copy the lower triangle of a matrix to the upper one, in place."""
    for part in _slices(len(square), MIRRORED):
        square[part, part.stop :] = square[part.stop :, part].T
        corner = square[part, part]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
    return square


def _both_products(axes: FloatArray, block: FloatArray) -> FloatArray:
    with threads_for(len(axes) * block.size):
        return np.asarray((axes @ block.T) @ block)


def _square(block: FloatArray) -> FloatArray:
    with threads_for(len(block) * block.size):
        return np.asarray(block @ block.T)
