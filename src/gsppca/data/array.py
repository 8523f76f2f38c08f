"""What matrices share: selected and scaled columns; and those in memory: radii along a ranking, chunk by chunk."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Self

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.base import Matrix

RADII_BYTES = 2**20  # squared radii of some rows at some sizes
RADII_ROWS = 4096
SAME_SCALE = 1e-12  # relative: scales that differ by less differ by rounding
LEAST_SHARE = 1e-3  # of all squares: columns with less would lose digits as a difference of two Gram matrices

Squares = Callable[[int, int], FloatArray]


@dataclass
class KnownRows:
    """What is known of the rows of some data, whatever the columns and scales they are looked at in.

    Attributes
    ----------
    lengths : ndarray of shape (n_samples,) or None
        Squared lengths of the rows, in any one of these scales.
    sums : ndarray of shape (n_sums, n_all_features) or None
        Sums of the centred rows of X, with weights that stress what the rows have in common.
    gram : tuple of three ndarrays, or None
        Some columns of X, ascending, their products with each other, and the scales that these are in.
    outer : tuple of ColumnView and ndarray, or None
        Some columns of X, in some scales, and the products of the rows with each other on them.
    """

    lengths: FloatArray | None = None
    sums: FloatArray | None = None
    gram: tuple[IntArray, FloatArray, FloatArray] | None = None
    outer: tuple[ColumnView, FloatArray] | None = None


class ColumnView(Matrix):
    """Centred view of data X, of which some columns may be left out, and all multiplied.

    Parameters
    ----------
    X : array or Blocks of shape (n_samples, n_all_features)
        float32 or float64, finite; kept by reference, never written to.
    index : ndarray of shape (n_features,), optional
        The columns of X that this matrix is made of; all of them by default.
    mean, column_squares : ndarray of shape (n_features,), optional
        As in `Matrix`, when both are known.
    column_scale : ndarray of shape (n_features,), optional
        As in `Matrix`; goes with known means and squares.
    """

    def __init__(
        self,
        X: Any,
        index: IntArray | None = None,
        *,
        mean: FloatArray | None = None,
        column_scale: FloatArray | None = None,
        column_squares: FloatArray | None = None,
    ):
        self.X = X
        self.index = index
        # What this matrix was made from, by a choice of columns or by a scale.
        self.origin: tuple[ColumnView, BoolArray | None, FloatArray | None] | None = None
        self.known_rows = KnownRows()
        self.n_samples = X.shape[0]
        self.n_features = X.shape[1] if index is None else len(index)
        self.column_scale = column_scale
        if mean is None or column_squares is None:
            mean, column_squares = self._moments()
        self.mean, self.column_squares = mean, column_squares

    def scaled(self, column_scale: FloatArray) -> Self:
        scale = column_scale if self.column_scale is None else self.column_scale * column_scale
        squares = self.column_squares * column_scale**2
        matrix = type(self)(self.X, self.index, mean=self.mean, column_scale=scale, column_squares=squares)
        matrix.origin, matrix.known_rows = (self, None, column_scale), self.known_rows
        return matrix

    def columns(self, kept: BoolArray) -> Self:
        part = type(self)(
            self.X,
            np.flatnonzero(kept) if self.index is None else self.index[kept],
            mean=self.mean[kept],
            column_scale=None if self.column_scale is None else self.column_scale[kept],
            column_squares=self.column_squares[kept],
        )
        part.origin, part.known_rows = (self, kept, None), self.known_rows
        return part

    @cached_property
    def gram(self) -> FloatArray:
        """``Z'Z``: that of the matrix that this one was made from, if it is there, needs no new pass over the data."""
        if self._is_corner:
            assert self.known_rows.gram is not None
            members, known, scale = self.known_rows.gram
            places = np.searchsorted(members, self._columns_of_X)
            corner = known[np.ix_(places, places)]
            scale = self._scales / scale[places]
            return corner if np.all(scale == 1) else corner * scale * scale[:, None]
        matrix: ColumnView = self
        index, scale = np.arange(self.n_features), np.ones(self.n_features)
        while matrix.origin is not None and matrix.gram_is_known and "gram" not in matrix.__dict__:
            parent, kept, factor = matrix.origin
            if kept is not None:
                index = np.flatnonzero(kept)[index]
            if factor is not None:
                scale *= factor[index]
            matrix = parent
        if matrix is self:
            return self._gram()
        whole = matrix.gram
        gram = whole.copy() if len(index) == len(whole) else whole[index][:, index].T  # in the order of rows
        gram *= scale
        gram *= scale[:, None]
        return gram

    @property
    def gram_is_known(self) -> bool:
        """Whether ``Z'Z`` takes no pass over the data, or one that serves all scales of the same columns."""
        if "gram" in self.__dict__ or self._is_corner:
            return True
        if self.origin is None:
            return False
        matrix, kept, _ = self.origin
        return matrix.gram_is_known or (kept is None and matrix.prefers_gram)

    def remember_gram(self, gram: FloatArray) -> None:
        """Let all matrices of these rows know ``Z'Z``, found elsewhere: that of fewer columns is a corner of it.

        It is kept as it is, and not to be written to.
        """
        kept = self._scales > 0
        gram = gram if kept.all() else gram[np.ix_(kept, kept)]
        self.known_rows.gram = self._columns_of_X[kept], gram, self._scales[kept]

    def outer_gram(self) -> FloatArray:
        """``Z Z'``: where it is known on these columns and a few more, it is had from these few. Not to be written to.

        Differences keep the digits as long as what is left is not a small part of what was there.
        """
        if self.known_rows.outer is None:
            return self._outer_gram()
        whole, gram = self.known_rows.outer
        kept = np.isin(whole._columns_of_X, self._columns_of_X)
        if 2 * self.n_features < len(kept) or np.count_nonzero(kept) < self.n_features:
            return self._outer_gram()
        scale, known = self._scales, whole._scales[kept]
        if np.any(np.abs(scale - known) > SAME_SCALE * known) or self.total_squares <= LEAST_SHARE * gram.trace():
            return self._outer_gram()
        return gram if kept.all() else gram - whole.columns(~kept)._outer_gram()

    @property
    def outer_gram_is_known(self) -> bool:
        known = self.known_rows.outer
        return known is not None and self.n_features == known[0].n_features and self.outer_gram() is known[1]

    def remember_outer_gram(self) -> None:
        """Form ``Z Z'``, and let all matrices of these rows know it; what they know of others is replaced."""
        gram = self.outer_gram()
        view = type(self)(
            self.X, self.index, mean=self.mean, column_scale=self.column_scale, column_squares=self.column_squares
        )
        self.known_rows.outer = view, gram

    @abstractmethod
    def _outer_gram(self) -> FloatArray:
        """Compute ``Z Z'``."""

    @property
    def _scales(self) -> FloatArray:
        return np.ones(self.n_features) if self.column_scale is None else self.column_scale

    @property
    def _columns_of_X(self) -> IntArray:
        return np.arange(self.n_features) if self.index is None else self.index

    @property
    def _is_corner(self) -> bool:
        """Whether ``Z'Z`` is a corner of what is known."""
        known = self.known_rows.gram
        return known is not None and bool(np.isin(self._columns_of_X, known[0]).all())

    # Kept for all columns of X without their scales: other views of the same rows find them there.
    @property
    def leading_sums(self) -> FloatArray | None:
        sums = self.known_rows.sums
        if sums is None:
            return None
        own = sums if self.index is None else sums[:, self.index]
        return own if self.column_scale is None else own * self.column_scale

    @leading_sums.setter
    def leading_sums(self, sums: FloatArray | None) -> None:
        self.known_rows.sums = None
        if sums is None:
            return
        with np.errstate(divide="ignore", invalid="ignore"):
            own = sums if self.column_scale is None else np.where(self.column_scale > 0, sums / self.column_scale, 0.0)
        self.known_rows.sums = np.zeros((len(sums), self.X.shape[1]))
        self.known_rows.sums[:, slice(None) if self.index is None else self.index] = own

    @abstractmethod
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Means of the columns of X, and their sums of squares around them."""


class ArrayMatrix(ColumnView):
    """Centred view of an array in memory, or of one that is read as if it were."""

    @property
    def rows_come_together(self) -> bool:
        return self.n_samples <= RADII_ROWS

    def rows(self, kept: BoolArray) -> Self:
        """Return some rows, around the means of all: a copy of them, for products only."""
        known = {"mean": self.mean, "column_scale": self.column_scale, "column_squares": self.column_squares}
        return type(self)(self.X[kept], self.index, **known)

    def reduce_radii(
        self,
        function: Callable[[FloatArray, slice], FloatArray],
        order: IntArray,
        sizes: IntArray,
        combine: Callable[[FloatArray, FloatArray], FloatArray] = np.add,
    ) -> FloatArray:
        ranked = order[: sizes[-1]]
        height = min(self.n_samples, RADII_ROWS)
        width = max(1, RADII_BYTES // (8 * height))
        # Each chunk of columns along the ranking: its bounds, and the sizes that end inside it.
        starts = range(0, len(ranked), width)
        chunks = [(a, min(a + width, len(ranked)), np.searchsorted(sizes, [a + 1, a + width + 1])) for a in starts]

        def rows_value(rows: slice) -> FloatArray:
            squares_of = self._squares_along(ranked, rows)
            values, carried = [], np.zeros(1)
            for first, last, (low, high) in chunks:
                squares = squares_of(first, last)
                squares[0] += carried
                _cumulate(squares)
                carried = squares[-1].copy()
                if high > low:
                    ends = sizes[low:high] - first - 1
                    radii = squares if len(ends) == len(squares) else squares[ends]
                    values.append(function(radii, slice(int(low), int(high))))
            return np.concatenate(values, axis=-1)

        blocks = [slice(start, start + height) for start in range(0, self.n_samples, height)]
        return reduce(combine, map(rows_value, blocks))

    def _outward(self, axes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scaled axes for all columns of X, zero where this matrix lacks one, and their products with the means."""
        axes = axes if self.column_scale is None else axes * self.column_scale
        shifts = axes @ self.mean
        if self.index is None:
            return axes, shifts
        wide = np.zeros((len(axes), self.X.shape[1]))
        wide[:, self.index] = axes
        return wide, shifts

    def _inward(self, wide: FloatArray, totals: FloatArray) -> FloatArray:
        """From products of some scores with all columns of X to those with Z, given the sums of the scores."""
        part: FloatArray = np.ascontiguousarray(wide, dtype=np.float64)
        if self.index is not None:
            for row in part:  # in place: no second array of the size of the products
                row[: self.n_features] = row[self.index]
            part = part[:, : self.n_features]
        for row, total in zip(part, totals.tolist(), strict=True):
            row -= total * self.mean
            if self.column_scale is not None:
                row *= self.column_scale
        return part

    @abstractmethod
    def _centred(self, rows: slice, columns: slice = slice(None)) -> FloatArray:
        """A dense float64 block of Z; the next one may overwrite it."""

    @abstractmethod
    def _squares_along(self, ranked: IntArray, rows: slice) -> Squares:
        """Prepare some rows: a function of (first, last) that gives the squares of Z at ``ranked[first:last]``.

        Shape (last - first, n_rows), for the caller to overwrite: sums over columns then add contiguous rows.
        """


def _cumulate(rows: FloatArray) -> None:
    """Cumulative sums down the columns, in place: first within groups of rows, all groups at once, then over groups.

    `np.cumsum` adds number by number, along each column: five times as slow.
    """
    height = math.isqrt(len(rows))
    groups = rows[: len(rows) // height * height].reshape(-1, height, rows.shape[1])
    for i in range(1, height):
        groups[:, i] += groups[:, i - 1]
    for i in range(1, len(groups)):
        groups[i] += groups[i - 1, -1]
    for i in range(len(groups) * height, len(rows)):
        rows[i] += rows[i - 1]


def without_rounding(squares: FloatArray, mean: FloatArray, n_samples: int) -> FloatArray:
    """Set sums of squares to zero where they are but the rounding of a constant column's mean."""
    rounding = 8 * np.finfo(np.float64).eps * np.abs(mean)
    return np.where(np.sqrt(squares / n_samples) <= rounding, 0.0, squares)
