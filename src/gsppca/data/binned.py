"""Power sums of each column by bins of its values: clipped at edges of bins, it has moments that are known from them.

Bins are `1 / PARTS` standard deviations wide, up to `MOST` of them on both sides of the mean, and one for all that is
beyond on each side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.blocks import Blocks
from gsppca.data.clipped import BlockSums, Elementwise, columns_of, row_and_column_sums

PARTS, MOST = 64, 4
LEAST = 0.5  # standard deviations: nearer to the mean, bins are too wide for bounds
N_BINS = 2 * MOST * PARTS + 2
N_POWERS = 5  # from the number of values to the sum of their fourth powers
BINS_BYTES = 2**27  # of sums of all columns
STRIP, HEIGHT = 32, 4096  # columns and rows treated at a time: with their bins, what a cache holds


def on_edges(values: FloatArray) -> BoolArray:
    """Which bounds, in standard deviations from the mean, lie where bins are narrow enough for bounds."""
    size = np.abs(values)
    return (size >= LEAST) & (size <= MOST)


def nearest_edge(values: FloatArray) -> FloatArray:
    """Return the edge of bins that is nearest to each of some values, in standard deviations from the mean."""
    return np.round(values * PARTS) / PARTS


def sums_and_bins(
    X: Any, function: Elementwise, mean: FloatArray, unit: FloatArray, *, by_row: tuple[int, ...], least: float
) -> tuple[FloatArray, FloatArray, ClippedMoments | None]:
    """Sum powers of the columns, as `row_and_column_sums` does, and of data in blocks by bins too, in the same pass.

    Parameters
    ----------
    X, function, by_row
        As in `row_and_column_sums`; the function gets the means and units, and what it yields last are fourth powers of
        values in units from the mean.
    mean, unit : ndarray of shape (n_features,)
        Means and standard deviations of the columns.
    least : float
        Mean fourth power of all columns of a block from which on its bins are filled.

    Returns
    -------
    sums : ndarray of shape (n_sums, n_features)
    row_sums : ndarray of shape (len(by_row), n_samples)
    clipped : ClippedMoments or None
        None if the tails of some block are not heavy, if bins would take too much memory, or of data in memory, where
        another pass costs less.
    """
    if not isinstance(X, Blocks):
        return *row_and_column_sums(X, function, mean, unit, by_row=by_row), None
    task = _SumsAndBins(BlockSums(function, (mean, unit), None, by_row), mean, unit, least)
    sums, row_sums, bins = X.fold(task, _combine)
    return sums, row_sums, ClippedMoments(bins) if bins.shape[1] else None


@dataclass(frozen=True)
class _SumsAndBins:
    """The sums of one block, and its power sums by bins, of no columns if its tails are not heavy."""

    sums: BlockSums
    mean: FloatArray
    unit: FloatArray
    least: float

    def __call__(self, block: Any, first: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        sums, row_sums = self.sums(block, first)
        fourth = sums[-1][sums[-1] > 0]
        heavy = len(fourth) > 0 and fourth.mean() > self.least * block.shape[0]
        few = 8 * N_POWERS * N_BINS * block.shape[1] <= BINS_BYTES
        return sums, row_sums, self._binned(block) if heavy and few else np.zeros((N_POWERS, 0, N_BINS))

    def _binned(self, block: Any) -> FloatArray:
        height, width = block.shape
        if issparse(block):
            columns = columns_of(block)
            values = (block.data - self.mean[columns]) * (1 / self.unit[columns])
            bins = _power_sums(values, columns, width)
            absent = height - np.bincount(columns, minlength=width)
            return bins + absent[:, None] * _power_sums(-self.mean / self.unit, np.arange(width), width)
        bins = np.zeros((N_POWERS, width, N_BINS))
        for start in range(0, width, STRIP):
            some = slice(start, min(start + STRIP, width))
            columns = np.tile(np.arange(some.stop - some.start), HEIGHT)
            for row in range(0, height, HEIGHT):
                values = block[row : row + HEIGHT, some].astype(np.float64)
                values -= self.mean[some]
                values *= 1 / self.unit[some]
                bins[:, some] += _power_sums(values.ravel(), columns[: values.size], some.stop - some.start)
        return bins


def _combine(
    one: tuple[FloatArray, FloatArray, FloatArray], other: tuple[FloatArray, FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sums and bins of two blocks; bins only where both have them."""
    bins = one[2] + other[2] if one[2].shape == other[2].shape else np.zeros((N_POWERS, 0, N_BINS))
    return one[0] + other[0], np.concatenate([one[1], other[1]], axis=1), bins


def _power_sums(values: FloatArray, columns: IntArray, width: int) -> FloatArray:
    """Numbers of values, and sums of their powers, by column and bin, shape (N_POWERS, width, N_BINS)."""
    places = np.clip(np.floor(values * PARTS), -MOST * PARTS - 1, MOST * PARTS).astype(np.intp)
    places += MOST * PARTS + 1 + columns * N_BINS
    powers, sums = np.ones_like(values), np.empty((N_POWERS, width * N_BINS))
    for one in sums:
        one[:] = np.bincount(places, weights=powers, minlength=width * N_BINS)
        powers *= values
    return sums.reshape(N_POWERS, width, N_BINS)


class ClippedMoments:
    """Sums of powers of clipped columns, from power sums by bins.

    Parameters
    ----------
    bins : ndarray of shape (N_POWERS, n_features, N_BINS)
    """

    def __init__(self, bins: FloatArray):
        self.n_samples = int(bins[0, 0].sum())
        # Up to each edge. Of what lies beyond all bounds the number counts, and its powers would cost digits.
        self.below = np.zeros((*bins.shape[:2], N_BINS - 1))
        np.cumsum(bins[:, :, 1:-1], axis=2, out=self.below[:, :, 1:])
        self.below[0] += bins[0, :, :1]

    def sums(self, columns: IntArray, centre: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return sums of the clipped values less a centre, of their sizes, and of their powers up to the fourth.

        Parameters
        ----------
        columns : ndarray of shape (n_columns,)
            Which of them.
        centre, low, high : ndarray of shape (n_columns,)
            Edges of bins; bounds up to rounding, to which values are clipped exactly as they are.

        Returns
        -------
        sums : ndarray of shape (5, n_columns)
        """
        at_low, at_centre, at_high = (self._until(columns, edge) for edge in (low, centre, high))
        inside, near = _shifted(at_high - at_low, centre), _shifted(at_centre - at_low, centre)
        sums = np.array([inside[1], inside[1] - 2 * near[1], *inside[2:]])
        for number, bound in ((at_low[0], low), (self.n_samples - at_high[0], high)):
            away = bound - centre
            sums += number * np.array([away, np.abs(away), away**2, away**3, away**4])
        return sums

    def _until(self, columns: IntArray, edge: FloatArray) -> FloatArray:
        """Power sums of all values below an edge, shape (N_POWERS, n_columns)."""
        return self.below[:, columns, np.round((edge + MOST) * PARTS).astype(np.intp)]


def _shifted(sums: FloatArray, centre: FloatArray) -> FloatArray:
    """Sums of powers of values less a centre, given those of the values."""
    none, first, second, third, fourth = sums
    c = centre
    return np.array(
        [
            none,
            first - c * none,
            second - 2 * c * first + c**2 * none,
            third - 3 * c * second + 3 * c**2 * first - c**3 * none,
            fourth - 4 * c * third + 6 * c**2 * second - 4 * c**3 * first + c**4 * none,
        ]
    )
