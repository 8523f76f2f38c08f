"""What a cross-validation asks of the data, each in one pass: scores, and sums over the rows of each part.

Products of columns over the rows of each fold: `fold_products`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.data.array import ArrayMatrix, ColumnView
from gsppca.data.base import Matrix
from gsppca.data.chunked import ChunkedMatrix, below
from gsppca.data.dense import DenseMatrix

BLOCK_BYTES = 2**20  # of centred rows treated at a time
MANY_ROWS = 4096  # beyond which folds are dealt by numbers of the rows that need no Gram matrix


def rank_sums(matrix: Matrix, count: int) -> FloatArray:
    """Return sums of the rows of Z with weights that are waves over the ranks of their lengths, (count, n_features).

    They lie in the space of the rows, and follow the order of the columns; one pass over the data finds them, after one
    for the lengths, if these are not known.
    """
    assert isinstance(matrix, ColumnView)
    known = matrix.known_rows
    known.lengths = matrix.row_squares() if known.lengths is None else known.lengths
    order = np.argsort(known.lengths, kind="stable")
    places = np.empty(len(order))
    places[order] = (np.arange(len(order)) + 0.5) / len(order)
    if isinstance(matrix, ChunkedMatrix):
        return matrix._sum(_block_rank_sums, places, count)
    assert isinstance(matrix, ArrayMatrix)
    return _block_rank_sums(matrix, slice(0, matrix.n_samples), places, count)


def _block_rank_sums(part: ArrayMatrix, rows: slice, places: FloatArray, count: int) -> FloatArray:
    return part.transposed_product(np.cos(np.pi * np.outer(places[rows], np.arange(1, count + 1))))


def scores_and_squares(matrix: Matrix, axes: FloatArray) -> FloatArray:
    """Return ``Z axes'`` and, as the last column, the sums of squares of the rows, shape (n_samples, n_axes + 1)."""
    if isinstance(matrix, ChunkedMatrix):
        return matrix._sum(_block_scores_and_squares, axes, combine=below)
    assert isinstance(matrix, ArrayMatrix)
    return _block_scores_and_squares(matrix, slice(None), axes)


def _block_scores_and_squares(part: ArrayMatrix, _: slice, axes: FloatArray) -> FloatArray:
    return np.column_stack([part.product(axes), part.row_squares()])


def weighted_moments(matrix: Matrix, axes: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return scores on the axes of several parts of the rows, and their weighted sums of products with all columns.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    axes : ndarray of shape (n_parts, n_axes, n_features)
        Those of each part; or of shape (1, n_axes, n_features), the same for all.
    weights : ndarray of shape (n_samples, n_parts)
        Of every row in the sums of each part.

    Returns
    -------
    scores : ndarray of shape (n_samples, len(axes), n_axes)
    moments : ndarray of shape (n_parts, n_axes, n_features)
    """
    if isinstance(matrix, ChunkedMatrix):
        return matrix._sum(_block_weighted_moments, axes, weights, combine=_scores_below)
    assert isinstance(matrix, ArrayMatrix)
    return _block_weighted_moments(matrix, slice(None), axes, weights)


def _block_weighted_moments(
    part: ArrayMatrix, rows: slice, axes: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    scores = part.product(axes.reshape(-1, part.n_features)).reshape(part.n_samples, *axes.shape[:2])
    weighted = (scores * weights[rows][:, :, None]).reshape(part.n_samples, -1)
    return scores, part.transposed_product(weighted).reshape(-1, *axes.shape[1:])


def _scores_below(
    one: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    return below(one[0], other[0]), one[1] + other[1]


class FirstMoments(NamedTuple):
    """What is known of the rows and of several parts of them, after one pass.

    Attributes
    ----------
    scores : ndarray of shape (n_samples, n_axes)
        Of all rows, on the same axes.
    row_squares : ndarray of shape (n_samples,)
        Sums of squares of the rows, of columns multiplied by their units.
    moments : ndarray of shape (n_parts, n_axes, n_features)
        Weighted sums of products of the scores with all columns.
    variances : ndarray of shape (n_parts, n_features)
        Weighted sums of squares of the columns.
    """

    scores: FloatArray
    row_squares: FloatArray
    moments: FloatArray
    variances: FloatArray


def first_moments(matrix: Matrix, axes: FloatArray, weights: FloatArray, units: FloatArray) -> FirstMoments:
    """Return scores, squares and moments of several parts of the rows.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    axes : ndarray of shape (n_axes, n_features)
        The same for all parts.
    weights : ndarray of shape (n_samples, n_parts)
        Of every row in the sums of each part.
    units : ndarray of shape (n_features,)
        What the columns are multiplied by in the squares of the rows.
    """
    if isinstance(matrix, ChunkedMatrix):
        return FirstMoments(*matrix._sum(_block_first_moments, axes, weights, units, combine=_rows_below))
    assert isinstance(matrix, ArrayMatrix)
    return FirstMoments(*_block_first_moments(matrix, slice(0, matrix.n_samples), axes, weights, units))


def _block_first_moments(
    part: ArrayMatrix, rows: slice, axes: FloatArray, weights: FloatArray, units: FloatArray
) -> tuple[FloatArray, ...]:
    scores, moments = _block_weighted_moments(part, rows, axes[None], weights)
    return scores[:, 0], part.scaled(units).row_squares(), moments, _block_fold_squares(part, rows, weights.T)


def _rows_below(one: tuple[FloatArray, ...], other: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    return below(one[0], other[0]), below(one[1], other[1]), one[2] + other[2], one[3] + other[3]


def sums_and_squares(matrix: Matrix) -> FloatArray:
    """Return the sums of the rows of Z and their sums of squares, shape (n_samples, 2)."""
    return scores_and_squares(matrix, np.ones((1, matrix.n_features)))


def fold_squares(matrix: Matrix, fold: IntArray) -> FloatArray:
    """Return the sums of squares of the columns of Z over the rows of each fold, shape (n_folds, n_features)."""
    member = (np.arange(int(fold.max()) + 1)[:, None] == fold).astype(np.float64)
    if isinstance(matrix, ChunkedMatrix):
        return matrix._sum(_block_fold_squares, member)
    assert isinstance(matrix, ArrayMatrix)
    return _block_fold_squares(matrix, slice(0, matrix.n_samples), member)


def _block_fold_squares(part: ArrayMatrix, rows: slice, member: FloatArray) -> FloatArray:
    own = member[:, rows]
    if isinstance(part, DenseMatrix) and part._by_width:
        sums = [own @ _squares(part._centred(slice(None), some)) for some in part._column_slices()]
        return np.concatenate(sums, axis=1)
    height = max(1, BLOCK_BYTES // (8 * part.n_features))
    totals = np.zeros((len(member), part.n_features))
    for start in range(0, part.n_samples, height):
        totals += own[:, start : start + height] @ _squares(part._centred(slice(start, start + height)))
    return totals


def _squares(block: FloatArray) -> FloatArray:
    return np.square(block, out=block)
