"""From relevances to an order of the variables."""

from __future__ import annotations

import numpy as np

from gsppca._typing import FloatArray, IntArray

DECIMALS = 9  # of a relevance that are more than the rounding of its convergence


def rank_variables(relevance: FloatArray, explained: FloatArray, column_squares: FloatArray) -> IntArray:
    """Order the variables from the most to the least relevant.

    Relevances clipped at 0 or 1 tie, and those within rounding of it must not be told apart.
    Ties are broken by the data: by the sum of squares that the factors explain,
    then by the variable's own sum of squares. Only columns with the same values everywhere can still tie; broken by
    position, they are exchangeable.

    Parameters
    ----------
    relevance, explained, column_squares : ndarray of shape (n_features,)

    Returns
    -------
    order : ndarray of shape (n_features,)
        Indices of the variables, the most relevant first.
    """
    keys = (_logarithms(column_squares), _logarithms(explained), np.round(relevance, DECIMALS))
    return np.lexsort([-key for key in keys])


def rank_by_score(score: FloatArray, column_squares: FloatArray) -> IntArray:
    """Order the variables by a score of order one, such as a logarithm or a share; ties as in `rank_variables`.

    Columns that are the same but for their place have scores that differ by the rounding of whatever computed them.
    """
    return np.lexsort((-_logarithms(column_squares), -np.round(score, DECIMALS)))


def _logarithms(squares: FloatArray) -> FloatArray:
    """Logarithms of sums of squares, without their rounding."""
    with np.errstate(divide="ignore"):
        return np.round(np.log(squares), DECIMALS)


def without_zeros(order: IntArray, relevance: FloatArray) -> IntArray:
    """Return the part of an order whose relevances are not zero, to nine decimals; at least the first variable.

    The paper's shortcut before the selection of a model (section 2.7). A relevance is never zero but by underflow: an
    iteration multiplies it by a factor.

    Parameters
    ----------
    order : ndarray of shape (n_features,)
        Indices of the variables, the most relevant first.
    relevance : ndarray of shape (n_features,)
    """
    return order[: max(int(np.count_nonzero(np.round(relevance, DECIMALS))), 1)]
