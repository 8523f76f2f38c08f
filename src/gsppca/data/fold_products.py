"""Products of columns over the rows of each fold, in one pass over the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from gsppca._threads import threads_for
from gsppca._typing import FloatArray, IntArray
from gsppca.data.array import ArrayMatrix
from gsppca.data.base import Matrix
from gsppca.data.chunked import ChunkedMatrix
from gsppca.data.dense import DenseMatrix, add_square, mirrored
from gsppca.data.sparse import SparseMatrix
from gsppca.data.sparse_products import Entries

BLOCK_BYTES = 2**20  # of centred rows treated at a time
LEAST_HEIGHT = 256  # rows of a fold that are multiplied at a time


class FoldProducts(NamedTuple):
    """Sums over the rows of each fold.

    Attributes
    ----------
    products : ndarray of shape (n_folds, n_chosen, n_features + n_others)
        Of products of chosen columns with all columns, and with others.
    fourths : ndarray of shape (n_folds,)
        Of the squares of the weighted sums of squares of the chosen columns, by row.
    """

    products: FloatArray
    fourths: FloatArray


def fold_products(
    matrix: Matrix,
    chosen: IntArray,
    fold: IntArray,
    others: FloatArray | None = None,
    weights: FloatArray | None = None,
) -> FoldProducts:
    """Return products of some columns of Z with all columns, and with others, over the rows of each fold.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    chosen : ndarray of shape (n_chosen,)
        Indices of the columns.
    fold : ndarray of shape (n_samples,)
        Number of the fold of every row, from 0.
    others : ndarray of shape (n_samples, n_others), optional
        Columns in memory; none by default.
    weights : ndarray of shape (n_chosen,), optional
        What the squares of the chosen columns are multiplied by; ones by default.
    """
    n_folds = int(fold.max()) + 1
    others = np.empty((matrix.n_samples, 0)) if others is None else others
    weights = np.ones(len(chosen)) if weights is None else weights
    if isinstance(matrix, ChunkedMatrix):
        return FoldProducts(*matrix._sum(_block_fold_products, chosen, fold, others, weights, n_folds, combine=_added))
    assert isinstance(matrix, ArrayMatrix)
    return _block_fold_products(matrix, slice(0, matrix.n_samples), chosen, fold, others, weights, n_folds)


def _added(one: tuple[FloatArray, ...], other: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    return one[0] + other[0], one[1] + other[1]


def _block_fold_products(
    part: ArrayMatrix,
    rows: slice,
    chosen: IntArray,
    fold: IntArray,
    others: FloatArray,
    weights: FloatArray,
    n_folds: int,
) -> FoldProducts:
    fold, others, p = fold[rows], others[rows], part.n_features
    sums = FoldProducts(np.zeros((n_folds, len(chosen), p + others.shape[1])), np.zeros(n_folds))
    if not isinstance(part, SparseMatrix):
        _add_blocks(sums, part, slice(0, part.n_samples), chosen, fold, others, weights)
        return sums
    spread = np.zeros(p)
    spread[chosen] = weights
    for some, entries in part.some_entries():
        if entries is None or not entries.products_are_few(chosen):
            _add_blocks(sums, part, some, chosen, fold, others, weights)
            continue
        for number in range(n_folds):
            inside = np.flatnonzero(fold[some] == number)
            own = Entries(entries.rows[inside], entries.centre)
            own.add_products(chosen, sums.products[number, :, :p])
            sums.products[number, :, p:] += own.transposed_product(others[some][inside])[chosen]
            sums.fourths[number] += np.sum(own.row_squares(spread) ** 2)
    return sums


def _add_blocks(
    sums: FoldProducts,
    part: ArrayMatrix,
    rows: slice,
    chosen: IntArray,
    fold: IntArray,
    others: FloatArray,
    weights: FloatArray,
) -> None:
    """Add what some rows have to sums, by dense blocks of them."""
    n_folds, n_chosen, width = sums.products.shape
    everything = np.array_equal(chosen, np.arange(part.n_features))
    # Thin blocks would cost a whole matrix of sums for few products; many sums need taller ones.
    height = max(BLOCK_BYTES // (8 * width), n_folds * min(LEAST_HEIGHT, n_chosen))
    for start in range(rows.start, rows.stop, height):
        own = slice(start, min(start + height, rows.stop))
        block = part._centred(own)
        columns = block if everything else block[:, chosen]
        fourths = np.einsum("ij,ij,j->i", columns, columns, weights) ** 2
        block = np.hstack([block, others[own]]) if others.shape[1] else block
        for number, total in enumerate(sums.products):
            inside = fold[own] == number
            sums.fourths[number] += fourths[inside].sum()
            right = block[inside]
            if everything and n_chosen == width:
                add_square(total, right)
            else:
                with threads_for(n_chosen * right.size):
                    total += columns[inside].T @ right
    if everything and n_chosen == width:
        for total in sums.products:
            mirrored(total)


def products_by_fold(
    matrix: Matrix, columns: FloatArray, fold: IntArray, others: FloatArray
) -> Callable[[slice], tuple[FloatArray, FloatArray]]:
    """Return a function of some features: products of given columns with them, over the rows of each fold, or of all.

    All of them may take more memory than few rows of data do: with an array in memory they are made when asked for.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    columns : ndarray of shape (n_samples, n_columns)
        Columns in memory.
    fold : ndarray of shape (n_samples,)
        Number of the fold of every row, from 0.
    others : ndarray of shape (n_samples, n_others)
        Further columns in memory, whose products over all rows are enough.

    Returns
    -------
    products : callable
        Of a slice of the features; returns arrays of shape (n_folds, n_columns, n_chosen_features) and (n_others,
        n_chosen_features).
    """
    n_folds = int(fold.max()) + 1
    if isinstance(matrix, DenseMatrix):
        rows = [np.flatnonzero(fold == number) for number in range(n_folds)]
        own = [np.ascontiguousarray(columns[some].T) for some in rows]
        return partial(_products_with_block, matrix, own, rows, np.ascontiguousarray(others.T))
    if isinstance(matrix, ArrayMatrix):
        members = [fold == number for number in range(n_folds)]
        products = np.array([matrix.rows(own).transposed_product(columns[own]) for own in members])
        with_others = matrix.transposed_product(others) if others.shape[1] else np.empty((0, matrix.n_features))
    else:  # in one pass: the columns once for each fold, and zero outside of it
        member = fold[:, None] == np.arange(n_folds)
        masked = (columns[:, None, :] * member[:, :, None]).reshape(matrix.n_samples, -1)
        both = matrix.transposed_product(np.hstack([masked, others]))
        products, with_others = both[: masked.shape[1]].reshape(n_folds, columns.shape[1], -1), both[masked.shape[1] :]
    return lambda part: (products[:, :, part], with_others[:, part])


def _products_with_block(
    matrix: DenseMatrix, columns: Sequence[FloatArray], rows: Sequence[IntArray], others: FloatArray, part: slice
) -> tuple[FloatArray, FloatArray]:
    block = matrix._centred(slice(None), part)
    return np.array([left @ block[own] for left, own in zip(columns, rows, strict=True)]), others @ block
