"""Data in blocks of rows as a centred matrix: every method is a map over blocks that reduces to a small array.

A block is treated as the array in memory that it is, with the means and scales of the whole: the laws of `dense.py`
and `sparse.py` hold for it, and nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gsppca._threads import treating_block
from gsppca._typing import FloatArray, IntArray
from gsppca.data.array import ArrayMatrix, ColumnView, without_rounding
from gsppca.data.blocks import Combine, ready, refuse_not_finite
from gsppca.data.entries import aligned
from gsppca.data.memory import in_memory

OUTER_BYTES = 2**28  # of centred rows, as many as are multiplied with all rows in one pass
FEW_PASSES = 8  # for the products of all rows with all


class ChunkedMatrix(ColumnView):
    """Centred view of blocks of rows.

    Parameters are those of `ColumnView`; X is a `Blocks`. Without known means, one pass over the data finds them, and
    refuses what is not finite.
    """

    @property
    def rows_come_together(self) -> bool:
        return False

    @property
    def passes_are_dear(self) -> bool:
        return not self.X.is_small

    @property
    def prefers_outer_gram(self) -> bool:
        return len(self._groups()) <= FEW_PASSES and super().prefers_outer_gram

    def _gram_product(self, axes: FloatArray) -> FloatArray:
        return self._sum(_gram_product, axes)

    def _gram(self) -> FloatArray:
        return self._sum(_gram)

    def product(self, axes: FloatArray) -> FloatArray:
        return self._sum(_product, axes, combine=below)

    def transposed_product(self, scores: FloatArray) -> FloatArray:
        return self._sum(_transposed_product, scores)

    def row_squares(self) -> FloatArray:
        return self._sum(_row_squares, combine=below)

    def _outer_gram(self) -> FloatArray:
        groups = self._groups()
        if len(groups) == 1:
            rows = self._sum(_rows, combine=below)
            return rows @ rows.T
        # The rows of some blocks after the others are the axes of a product with all.
        parts = (np.concatenate([self._rows(number) for number in group]) for group in groups)
        return np.concatenate([self.product(rows) for rows in parts], axis=1)

    def _groups(self) -> list[IntArray]:
        """Numbers of blocks, as many together as hold `OUTER_BYTES`."""
        ends = self.X.edges[1:] * self.n_features * 8
        return np.split(np.arange(self.X.n_blocks), np.flatnonzero(np.diff((ends - 1) // OUTER_BYTES)) + 1)

    def reduce_radii(
        self,
        function: Callable[[FloatArray, slice], FloatArray],
        order: IntArray,
        sizes: IntArray,
        combine: Combine = np.add,
    ) -> FloatArray:
        return self._sum(_reduce_radii, function, order, sizes, combine, combine=combine)

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses squares that are not finite
            self.X.fingerprint = self.X.fold(_block_moments, _combine_moments)
            _, mean, squares, _ = self.X.fingerprint
            return mean, without_rounding(squares, mean, self.n_samples)

    def _rows(self, number: int) -> FloatArray:
        """Rows of Z in one block."""
        first, last = self.X.edges[number : number + 2].tolist()
        return self._part_of(_rows)(ready(self.X.block(number), number, (last - first, self.X.shape[1])), first)

    def _sum(self, function: Callable[..., Any], *arguments: Any, combine: Combine = np.add) -> Any:
        return self.X.fold(self._part_of(function, *arguments), combine)

    def _part_of(self, function: Callable[..., Any], *arguments: Any) -> BlockTask:
        squares = self.column_squares / self.n_samples
        return BlockTask(function, arguments, self.index, self.mean, self.column_scale, squares)


@dataclass(frozen=True)
class BlockTask:
    """What a pass does with a block; sent to workers as it is.

    Attributes
    ----------
    function : callable
        Of the block as a matrix, the rows it holds, and the arguments.
    arguments : tuple
        The same for all blocks.
    index, mean, column_scale : ndarray or None
        As in `ColumnView`.
    mean_squares : ndarray of shape (n_features,)
        Variances of the columns: the share of one row in `column_squares`.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    index: IntArray | None
    mean: FloatArray
    column_scale: FloatArray | None
    mean_squares: FloatArray

    def __call__(self, block: Any, first: int) -> Any:
        """Treat a block that begins with row `first`."""
        height = block.shape[0]
        part = in_memory(
            block,
            index=self.index,
            mean=aligned(self.mean),
            column_scale=aligned(self.column_scale),
            column_squares=self.mean_squares * height,
        )
        with treating_block():
            return self.function(part, slice(first, first + height), *map(aligned, self.arguments))


def _gram_product(part: ArrayMatrix, _: slice, axes: FloatArray) -> FloatArray:
    return part._gram_product(axes)


def _gram(part: ArrayMatrix, _: slice) -> FloatArray:
    return part._gram()


def _product(part: ArrayMatrix, _: slice, axes: FloatArray) -> FloatArray:
    return part.product(axes)


def _transposed_product(part: ArrayMatrix, rows: slice, scores: FloatArray) -> FloatArray:
    return part.transposed_product(scores[rows])


def _row_squares(part: ArrayMatrix, _: slice) -> FloatArray:
    return part.row_squares()


def _rows(part: ArrayMatrix, _: slice) -> FloatArray:
    return part._centred(slice(None)).copy()


def _reduce_radii(part: ArrayMatrix, _: slice, *arguments: Any) -> FloatArray:
    return part.reduce_radii(*arguments)


def below(one: FloatArray, other: FloatArray) -> FloatArray:
    """Put the results of some rows below those of the rows before."""
    return np.concatenate([one, other])


def _block_moments(block: Any, first: int) -> FloatArray:
    """Moments of a block that is finite, shape (4, n_features).

    Number of rows, means, sums of squares around them, and sums with weights that no two rows share: they change with
    the order of the rows.
    """
    refuse_not_finite(block, first)
    part = in_memory(block)
    weights = np.sin(np.arange(first + 1.0, first + part.n_samples + 1) ** 2).astype(part.X.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        weighted = np.asarray(weights @ part.X, dtype=np.float64)
    return np.array([np.full(part.n_features, float(part.n_samples)), part.mean, part.column_squares, weighted])


def _combine_moments(one: FloatArray, other: FloatArray) -> FloatArray:
    """Moments of the rows of both: no square of a mean appears, and a large mean costs no digits (Chan et al. 1979)."""
    (n, mean, squares, weighted), (m, other_mean, other_squares, other_weighted) = one, other
    shift = other_mean - mean
    squares = squares + other_squares + shift**2 * (n * m / (n + m))
    return np.array([n + m, mean + shift * (m / (n + m)), squares, weighted + other_weighted])
