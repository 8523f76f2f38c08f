"""Numbers that differ by no more than rounding, treated as equal: the answer must not depend on the last digits."""

from __future__ import annotations

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray

EQUAL = 1e-9  # relative to the largest


def tolerant_ranks(values: FloatArray, tolerance: float | None = None) -> IntArray:
    """Return the ranks of some values, from 0 for the least; neighbours that are equal up to rounding share one.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
    tolerance : float, optional
        Difference up to which neighbours are equal; by default, relative to the largest value.

    Examples
    --------
    >>> import numpy as np
    >>> tolerant_ranks(np.array([2.0, 1.0, 1.0 + 1e-15])).tolist()
    [1, 0, 0]
    """
    order, apart = _sorted(values, tolerance)
    ranks = np.empty(len(values), dtype=np.intp)
    ranks[order] = np.append(0, np.cumsum(apart))[: len(values)]
    return ranks


def _sorted(values: FloatArray, tolerance: float | None = None) -> tuple[IntArray, BoolArray]:
    """The order of some values, and which neighbours in it differ by more than rounding."""
    order = np.argsort(values, kind="stable")
    if tolerance is None:
        tolerance = EQUAL * float(np.where(np.isfinite(values), np.abs(values), 0.0).max(initial=0.0))
    with np.errstate(invalid="ignore"):  # infinite values are equal to each other
        return order, np.diff(values[order]) > tolerance


def largest_first(keys: FloatArray) -> IntArray:
    """Return the order of variables by falling first key; equal ones by the next key, and then as they come.

    Parameters
    ----------
    keys : ndarray of shape (n_keys, n_variables)
        The most important key first.
    """
    order, apart = _sorted(-keys[0])
    return order if apart.all() else np.lexsort([tolerant_ranks(-key) for key in keys[::-1]])


def places_of_largest(values: FloatArray, ties: FloatArray) -> IntArray:
    """Return the first place of `largest_first`, without sorting, of each of several orders.

    Parameters
    ----------
    values : ndarray of shape (n_orders, n_variables)
        The first key of each order.
    ties : ndarray of shape (n_keys, n_orders, n_variables)
        The others.
    """
    places: IntArray = values.argmax(axis=1)
    largest = values[np.arange(len(values)), places]
    equal = values >= (largest - EQUAL * np.abs(largest))[:, None]
    if np.count_nonzero(equal) == len(values):
        return places
    for order in np.flatnonzero(np.count_nonzero(equal, axis=1) > 1).tolist():
        first = np.flatnonzero(equal[order])
        for key in ties[:, order]:
            first = first[key[first] >= key[first].max() - EQUAL * abs(key[first].max())]
        places[order] = first[0]
    return places
