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
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dstemr

from gsppca._typing import FloatArray

TOLERANCE = 1e-12  # of the residual of an eigenvector, relative to the largest eigenvalue
ROUGH = 1e-8  # the same where only the eigenvalue is wanted: its error is of the order of the square
INVARIANT = 1e-13  # of the largest eigenvalue: what is left of a product, and is rounding
AGAIN = 0.12  # of the steps so far: then it is looked again whether there are enough pairs
FIRST_CHECK = 2  # steps for each pair, and some more, before convergence is looked at
AHEAD = 0.45  # of the steps that a steady convergence would still need: then it is looked at again

Enough = Callable[[FloatArray], int | None]
Found = tuple[FloatArray, FloatArray]


class Pairs(NamedTuple):
    """Eigenvalues, ascending, eigenvectors as columns, and the number of steps that they took."""

    values: FloatArray
    vectors: FloatArray
    n_steps: int


def lanczos_pairs(
    matrix: FloatArray, count: int, n_values: int = 0, enough: Enough | None = None, look: int = 0
) -> Pairs:
    """Return the largest eigenpairs of a positive semi-definite matrix.

    Parameters
    ----------
    matrix : ndarray of shape (order, order)
        Contiguous.
    count, n_values, enough, look
        As in `operator_pairs`.
    """
    half = matrix if matrix.flags.f_contiguous else matrix.T

    def product(vector: FloatArray) -> FloatArray:
        image: FloatArray = dsymv(1.0, half, vector, lower=1)
        return image

    return operator_pairs(product, matrix.diagonal(), count, n_values, enough, look)


def operator_pairs(
    product: Callable[[FloatArray], FloatArray],
    diagonal_entries: FloatArray,
    count: int,
    n_values: int = 0,
    enough: Enough | None = None,
    look: int = 0,
) -> Pairs:
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
    enough : callable, optional
        Tells, from the largest eigenvalues, descending, of how many of these the vectors are wanted, or None as long as
        more have to be known. Then these values and vectors are returned; `count` pairs, if it always wants more.
    look : int, optional
        Steps after which that is asked for the first time.
    """
    order = len(diagonal_entries)
    basis = np.empty((min(order, FIRST_CHECK * count + 32), order))
    diagonal, beside = np.empty(order), np.empty(order)
    following = diagonal_entries + diagonal_entries.sum() / order
    following = following / np.linalg.norm(following)
    check = FIRST_CHECK * count + 10 if enough is None else look or count + 10
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
            tridiagonal = _Tridiagonal(diagonal[:step], beside[:step], left if step < order else 0.0)
            if enough is None:
                found, lacking = tridiagonal.all_of(count, n_values)
                further = AHEAD * step * min(lacking / max(1 - lacking, 0.1), 0.7)
            else:
                found, further = tridiagonal.as_many_as(enough, count, n_values), AGAIN * step
            if found is not None:
                values, vectors = found
                return Pairs(values, known.T @ vectors, step)
            check = step + max(int(further), 3)
        if left <= INVARIANT * largest:
            left, image = 0.0, _orthogonal_to(known)
            following = image
        else:
            following = image / left
        beside[step - 1] = left
    raise AssertionError("a basis of the whole space holds all eigenvectors")


class _Tridiagonal:
    """What the iterations have found: a matrix in their basis; `left` is how far they are from an invariant space."""

    def __init__(self, diagonal: FloatArray, beside: FloatArray, left: float):
        self.diagonal, self.beside, self.left = diagonal, beside, left

    def all_of(self, count: int, n_values: int) -> tuple[Found | None, float]:
        """Return the largest pairs, if they are accurate, and else how much is lacking, 1 if nothing has converged."""
        order = len(self.diagonal)
        tolerance = np.where(np.arange(count) < n_values, ROUGH, TOLERANCE)
        # The smallest converge last: as long as they lack something, the others need not be looked at.
        for some in (min(n_values + 1, count), count) if self.left else (count,):
            values, vectors = _tridiagonal_pairs(self.diagonal, self.beside, order, order - count, some)
            largest = values[-1] if some == count else self.diagonal.max()
            excess = float(np.max(self.left * np.abs(vectors[-1]) / (tolerance[:some] * largest)))
            if excess > 1:
                return None, math.log(excess) / -math.log(TOLERANCE)
        return (values, vectors), 0.0

    def as_many_as(self, enough: Enough, most: int, n_values: int) -> Found | None:
        """Return as many as are enough, at most `most`, if they are accurate."""
        order = len(self.diagonal)
        count = min(most, order if not self.left else order // 2)
        values, vectors = _tridiagonal_pairs(self.diagonal, self.beside, order, order - count, count)
        residuals = self.left * np.abs(vectors[-1, ::-1]) / values[-1]
        n_known = int(np.argmax(np.append(residuals, 1.0) > ROUGH))
        wanted = enough(values[::-1][:n_known]) if n_known else None
        if wanted is None and n_known == most:
            wanted = most - n_values
        if wanted is None or np.any(residuals[:wanted] > TOLERANCE):
            return None
        return values[count - n_known :], vectors[:, count - wanted :]


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


def _orthogonal_to(basis: FloatArray) -> FloatArray:
    """A unit vector orthogonal to the rows of a basis."""
    vector: FloatArray = np.random.default_rng(len(basis)).standard_normal((basis.shape[1],))
    for _ in range(3):
        vector -= (basis @ vector) @ basis
        vector = vector / np.linalg.norm(vector)
    return vector
