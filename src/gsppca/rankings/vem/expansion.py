"""Moves by which an iteration of the variational EM goes further, without another pass over the data.

EM updates one group of parameters at a time, and creeps where groups must move together. Three such moves are known in
closed form, or nearly; each raises the bound, and none moves a fixed point:

1. Given the scores, the bound with the best q(W) is a sum of functions of one relevance each. `likelier` goes up all of
   them.
2. Multiplying u by a number, dividing W by it and multiplying alpha by it changes nothing. So u <= 1 is no constraint,
   but a choice of the unit: relevances are updated freely, and the largest is then made 1. Clipped at 1, they would
   have to wait until the others have fallen.
3. W L' and Y L^-1 fit the data as W and Y do, for any matrix L, but the priors favour one: `linalg.turn.best_turn`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gsppca._typing import FloatArray

FASTEST = 1e-4  # factor by which the square of a relevance falls at most, in one step


def likelier(relevance: FloatArray, lam: FloatArray, squares: FloatArray, unit: float) -> FloatArray:
    """Return relevances at which the bound is higher, or the same, given the scores and with the best q(W).

    With x = u^2 / (alpha sigma)^2 and r_j = 1 / (1 + x lam_j), twice the part of the bound that depends on u is
    ``sum_j (log r_j + x c_j r_j)``. It is stationary where ``N = sum_j lam_j r_j`` equals ``D = sum_j c_j r_j^2``.
    N / D is linear in x for d = 1, and nearly for more: the step is that of Newton's method for N / D = 1. Where it
    would lower the bound, x is multiplied by sqrt(D / N) instead, the maximiser of a minorant that touches the bound
    at x. A relevance falls no faster than by D / N, as it would in EM where it is small: none becomes zero, and
    variables vanish in the order of EM. None grows faster than by 2 D / N.

    Parameters
    ----------
    relevance : ndarray of shape (n_features,)
        u.
    lam : ndarray of shape (n_components,)
        Eigenvalues of the second moment of the scores.
    squares : ndarray of shape (n_components, n_features)
        c: squared products of the scores, in the eigenbasis, with the data, divided by sigma^2.
    unit : float
        ``(alpha sigma)^2``.
    """
    x = relevance * relevance / unit
    r, weighted, value = _part_of_bound(x, lam, squares)
    wanted = lam @ r  # N
    weighted *= r
    found = weighted.sum(axis=0)  # D
    weighted *= r
    slope = 2 * wanted * (lam @ weighted) - found * ((lam * lam) @ np.square(r, out=r))  # of N / D, times D^2
    ratio = found / wanted
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        factor = np.where(slope * x > 0, 1 - found * (wanted - found) / (slope * x), ratio)
    edge = ratio * ratio
    factor = np.clip(factor, np.clip(edge, FASTEST, 1.0), np.maximum(4 * edge, 1.0))
    higher = _part_of_bound(factor * x, lam, squares)[2] >= value
    return relevance * np.sqrt(np.where(higher, factor, np.maximum(np.sqrt(ratio), FASTEST)))


def _part_of_bound(x: FloatArray, lam: FloatArray, squares: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """r, c r, and twice the part of the bound that depends on each relevance."""
    shrinkage = np.multiply.outer(lam, x)
    shrinkage += 1.0
    value = -sum(logs_of_rows(shrinkage))
    r = np.divide(1.0, shrinkage, out=shrinkage)
    weighted = squares * r
    return r, weighted, value + x * weighted.sum(axis=0)


def logs_of_rows(positive: FloatArray) -> Iterator[FloatArray]:
    """Yield the logarithms of the products of every five rows: a fifth of the logarithms."""
    for first in range(0, len(positive), 5):
        product = np.multiply.reduce(positive[first : first + 5])
        yield np.log(product, out=product)
