"""Which of many variables are worth a place in a pool, as far as the components tell: this needs no data.

Given chosen variables, covariances are taken for those of a factor model whose factors are the scores. With P the
covariance of the scores, and Q what is left of it by the chosen ones, which is known exactly, a variable k of variance
v_k and covariances c_k with the scores has about

    c_k -> Q P^-1 c_k,      v_k -> v_k - c_k' P^-1 (P - Q) P^-1 c_k .

Each selection lists the best by their gain, by their gain in each single component, which will count once other
components are known, and, when that decides, by agreement or relevance. It chooses from its own list alone: what the
others list, they have seen in rows that it leaves out.
"""

from __future__ import annotations

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.rules.forward import Forward, blocks, gains_of
from gsppca.rules.ties import EQUAL, largest_first

BY_GAIN = BY_AGREEMENT = 128  # variables that a selection lists
BY_COMPONENT = 160  # the same, of all components together


def listed(forward: Forward, ties: FloatArray, most: int, times: int = 1) -> IntArray:
    """Return the variables that a selection lists, and those that it has chosen, ascending.

    Parameters
    ----------
    forward : Forward
        The selection.
    ties : ndarray of shape (n_keys, n_features)
        What decides between equal ones, largest first.
    most : int
        How many variables are chosen at most.
    times : int, default=1
        How many times as many variables as usual are listed.
    """
    p, d = len(forward.allowed), len(forward.part.axes)
    gains, singly, agreement = np.empty(p), np.empty((d, p)), np.empty(p if forward.by_agreement else 0)
    inverse = np.linalg.pinv(forward.covariance, hermitian=True)
    taken = forward.covariance - forward.unexplained
    for some in blocks(p):
        cross, variance = forward.cross(some), forward.variance(some)
        if forward.order:
            loadings = inverse @ cross
            variance -= np.einsum("kp,kp->p", loadings, taken @ loadings)
            np.maximum(variance, forward.shrinkage, out=variance)
            cross = forward.unexplained @ loadings
        gains[some], singly[:, some] = gains_of(cross, variance, forward.own(some)), cross**2 / variance
        if forward.by_agreement:
            agreement[some] = forward.agreement.likely(np.array(forward.order), some)
    wishes: list[tuple[FloatArray, int]] = [(gains, times * BY_GAIN)]
    wishes += [(values, -(-times * BY_COMPONENT // d)) for values in singly]
    if forward.sparse:
        wishes.append((forward.relevance, most))
    if forward.by_agreement:
        wishes.append((agreement, times * BY_AGREEMENT))
    lists = [_largest(np.where(forward.allowed, values, -np.inf), ties, count) for values, count in wishes]
    return np.unique(np.concatenate([np.array(forward.order, dtype=np.intp), *lists]))


def _largest(values: FloatArray, ties: FloatArray, count: int) -> IntArray:
    """Places of the largest values, those of -inf left out; not many more than `count`, if some are equal."""
    last = float(np.partition(values, -count)[-count]) if count < len(values) else -np.inf
    largest = np.flatnonzero((values >= last - EQUAL * abs(last)) & (values > -np.inf))
    if len(largest) > 2 * count:
        largest = largest[largest_first(np.vstack([values[largest], ties[:, largest]]))[:count]]
    return largest
