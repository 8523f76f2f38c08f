"""Leading eigenpairs of a symmetric matrix in memory, by Lanczos iterations.

`eigsh` of scipy does the same. Where we leave it, and why:

1. Nothing is restarted: as many steps as it takes, for a matrix of some thousands, are a small part of the matrix, and
   a restart loses some of what they have found.
2. Only half of the matrix is read at each step: beyond the caches, that is what a step costs.
3. The basis is kept orthogonal in full: after the recurrence, by one round of Gram-Schmidt.
4. The start is a function of the diagonal, so that the order of rows does not show. If it spans an invariant space, a
   fixed random vector opens the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dstemr

from gsppca._typing import FloatArray

TOLERANCE = 1e-12  # of the residual of an eigenvector, relative to the largest eigenvalue
ROUGH = 1e-8  # the same where only the eigenvalue is wanted: its error is of the order of the square
INVARIANT = 1e-13  # of the largest eigenvalue: what is left of a product, and is rounding
FIRST_CHECK = 2  # steps for each pair, and some more, before convergence is looked at
AHEAD = 0.45  # of the steps that a steady convergence would still need: then it is looked at again


def lanczos_pairs(
    matrix: FloatArray, count: int, n_values: int = 0, levels: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of a positive semi-definite matrix, ascending, and the eigenvectors as columns.

    Parameters
    ----------
    matrix : ndarray of shape (order, order)
        Contiguous.
    count, n_values, levels
        As in `operator_pairs`.
    """
    half = matrix if matrix.flags.f_contiguous else matrix.T
    return operator_pairs(lambda vector: dsymv(1.0, half, vector, lower=1), matrix.diagonal(), count, n_values, levels)


def operator_pairs(
    product: Callable[[FloatArray], FloatArray],
    diagonal_entries: FloatArray,
    count: int,
    n_values: int = 0,
    levels: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the same of a matrix that is known by its products with vectors, and its diagonal.

    Parameters
    ----------
    product : callable
        From a vector to its product with the matrix, which may be overwritten.
    diagonal_entries : ndarray of shape (order,)
    count : int
        How many pairs are wanted, fewer than the order.
    n_values : int, default=0
        Of how many of these, the smallest, only the values are wanted.
    levels : ndarray of shape (count,), optional
        What is wanted, from the largest pair on, ends with the first whose value does not exceed its level; the others
        are not accurate.
    """
    order = len(diagonal_entries)
    basis = np.empty((min(order, FIRST_CHECK * count + 32), order))
    diagonal, beside = np.empty(order), np.empty(order)
    following = diagonal_entries + diagonal_entries.sum() / order
    following = following / np.linalg.norm(following)
    check = FIRST_CHECK * count + 10 if levels is None else count + 10
    tolerance = np.where(np.arange(count) < n_values, ROUGH, TOLERANCE)
    largest = 0.0
    for step in range(1, order + 1):
        if step > len(basis):
            basis = np.concatenate([basis, np.empty((min(len(basis), order - len(basis)), order))])
        basis[step - 1] = following
        known, last = basis[:step], basis[max(step - 2, 0) : step]
        image = product(following)
        inner = last @ image
        image -= inner @ last
        image -= (known @ image) @ known
        diagonal[step - 1] = inner[-1]
        largest = max(largest, diagonal[step - 1])
        left = math.sqrt(image @ image)
        if step >= min(check, order):
            # The smallest converge last: as long as they lack something, the others need not be looked at.
            excess = 0.0
            if levels is None and step < order:
                _, vectors = _tridiagonal_pairs(diagonal, beside, step, step - count, min(n_values + 1, count))
                excess = float(np.max(left * np.abs(vectors[-1]) / (tolerance[: n_values + 1] * largest)))
            if excess <= 1:
                values, vectors = _tridiagonal_pairs(diagonal, beside, step, step - count, count)
                first = 0 if levels is None else _first_wanted(values, levels)
                excess = float(np.max((left * np.abs(vectors[-1]) / (tolerance * values[-1]))[first:]))
                if step == order or excess <= 1:
                    return values, known.T @ vectors
            lacking = math.log(excess) / -math.log(TOLERANCE)  # 1 if nothing has converged yet
            check = step + max(int(AHEAD * step * min(lacking / max(1 - lacking, 0.1), 0.7)), 3)
        if left <= INVARIANT * largest:
            left, image = 0.0, _orthogonal_to(known)
            following = image
        else:
            following = image / left
        beside[step - 1] = left
    raise AssertionError("a basis of the whole space holds all eigenvectors")


def _tridiagonal_pairs(
    diagonal: FloatArray, beside: FloatArray, order: int, first: int, count: int
) -> tuple[FloatArray, FloatArray]:
    """Some eigenpairs of a symmetric tridiagonal matrix, ascending, from the one at place `first` on.

    By LAPACK itself: `eigh_tridiagonal` of scipy takes several times as long for so small a matrix.
    """
    padded = np.append(beside[: order - 1], 0.0)  # LAPACK wants room for one more
    by_place = 2
    found, values, vectors, failed = dstemr(diagonal[:order], padded, by_place, 0.0, 0.0, first + 1, first + count)
    if failed or found < count:  # some are missed where many are equal
        whole = np.diag(diagonal[:order]) + np.diag(beside[: order - 1], -1)
        values, vectors = np.linalg.eigh(whole)
        return values[first : first + count], vectors[:, first : first + count]
    return values[:count], vectors[:, :count]


def _first_wanted(values: FloatArray, levels: FloatArray) -> int:
    """Place, among ascending values, of the largest that does not exceed its level; the levels descend."""
    low = values[::-1] <= levels
    return len(values) - 1 - int(low.argmax()) if low.any() else 0


def _orthogonal_to(basis: FloatArray) -> FloatArray:
    """A unit vector orthogonal to the rows of a basis."""
    vector: FloatArray = np.random.default_rng(len(basis)).standard_normal((basis.shape[1],))
    for _ in range(3):
        vector -= (basis @ vector) @ basis
        vector = vector / np.linalg.norm(vector)
    return vector
