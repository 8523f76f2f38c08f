"""Numbers that differ by no more than rounding, treated as equal: the answer must not depend on the last digits."""

from __future__ import annotations

import numpy as np

from gsppca._typing import FloatArray, IntArray

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
    order = np.argsort(values, kind="stable")
    if tolerance is None:
        tolerance = EQUAL * float(np.where(np.isfinite(values), np.abs(values), 0.0).max(initial=0.0))
    with np.errstate(invalid="ignore"):  # infinite values are equal to each other
        apart = np.diff(values[order]) > tolerance
    ranks = np.empty(len(values), dtype=np.intp)
    ranks[order] = np.append(0, np.cumsum(apart))[: len(values)]
    return ranks


def largest_first(keys: FloatArray) -> IntArray:
    """Return the order of variables by falling first key; equal ones by the next key, and then as they come.

    Parameters
    ----------
    keys : ndarray of shape (n_keys, n_variables)
        The most important key first.
    """
    first = tolerant_ranks(-keys[0])
    if len(first) and first.max() == len(first) - 1:  # no two are equal
        return np.argsort(first)
    return np.lexsort([*(tolerant_ranks(-key) for key in keys[:0:-1]), first])


def place_of_largest(values: FloatArray, ties: FloatArray) -> int:
    """Return the first place of `largest_first`, without sorting.

    Parameters
    ----------
    values : ndarray of shape (n_variables,)
        The first key.
    ties : ndarray of shape (n_keys, n_variables)
        The others.
    """
    equal = _largest(values)
    for key in ties:
        if len(equal) == 1:
            break
        equal = equal[_largest(key[equal])]
    return int(equal[0])


def _largest(values: FloatArray) -> IntArray:
    largest = values.max()
    return np.flatnonzero(values >= largest - EQUAL * abs(largest))
