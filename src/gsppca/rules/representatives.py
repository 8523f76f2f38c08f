"""Which chosen variable stands for each of the others: the one of the largest absolute correlation."""

from __future__ import annotations

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.data.base import Matrix
from gsppca.data.chosen_columns import column_values


def represents(matrix: Matrix, chosen: IntArray, n_best: int) -> tuple[IntArray, FloatArray]:
    """Return, for each chosen variable, the others that it represents best, and their correlations with it.

    Every variable that is not chosen belongs to the chosen one of the largest absolute correlation.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    chosen : ndarray of shape (n_chosen,)
        Indices of the chosen variables.
    n_best : int
        How many to return for each, at most.

    Returns
    -------
    indices : ndarray of shape (n_chosen, n_best)
        By falling absolute correlation; -1 where there are fewer.
    correlations : ndarray of shape (n_chosen, n_best)
        Not a number where there are fewer.
    """
    deviations = np.sqrt(matrix.column_squares / matrix.n_samples)
    standard = matrix.scaled(1 / np.where(deviations > 0, deviations, np.inf))
    products = standard.transposed_product(column_values(standard, chosen)) / matrix.n_samples
    place, correlation = representing(products, chosen)
    by = chosen[place]
    return represented_lists(by, np.clip(correlation, -1.0, 1.0), chosen, n_best)


def represented_lists(
    represented_by: IntArray, correlation: FloatArray, chosen: IntArray, n_best: int
) -> tuple[IntArray, FloatArray]:
    """`represents`, from the attributes of a `CoreDescription`."""
    indices = np.full((len(chosen), n_best), -1)
    correlations = np.full((len(chosen), n_best), np.nan)
    others = np.ones(len(represented_by), dtype=bool)
    others[chosen] = False
    for row, member in enumerate(chosen):
        own = np.flatnonzero(others & (represented_by == member) & (correlation != 0))
        best = own[np.argsort(-np.abs(correlation[own]), kind="stable")[:n_best]]
        indices[row, : len(best)], correlations[row, : len(best)] = best, correlation[best]
    return indices, correlations


def representing(products: FloatArray, chosen: IntArray, start: int = 0) -> tuple[IntArray, FloatArray]:
    """Which chosen variable has the largest product with each of some variables, from `start` on, and that product."""
    best = np.argmax(np.abs(products), axis=0)
    inside = (chosen >= start) & (chosen < start + products.shape[1])
    best[chosen[inside] - start] = np.flatnonzero(inside)
    return best, products[best, np.arange(products.shape[1])]
