"""Which of many variables are worth a place in a pool, as far as the components tell: this needs no data.

Given chosen variables, covariances are taken for those of a factor model whose factors are the scores. With P the
covariance of the scores, and Q what is left of it by the chosen ones, which is known exactly, a variable k of variance
v_k and covariances c_k with the scores has about

    c_k -> Q P^-1 c_k,      v_k -> v_k - c_k' P^-1 (P - Q) P^-1 c_k .

Each selection lists the best by their gain, by their gain in each single component, which will count once other
components are known, and, when that decides, by agreement or relevance. It chooses from its own list alone: what the
others list, they have seen in rows that it leaves out. The first list looks at all variables; later ones at those that
were near the first, which are some thousands at most.
"""

from __future__ import annotations

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.rules.forward import Forward, blocks, gains_of
from gsppca.rules.ties import EQUAL, largest_first

BY_GAIN = BY_AGREEMENT = 128  # variables that a selection lists
BY_COMPONENT = 160  # the same, of all components together
NEAR = 16  # times as many as are listed: what later lists look at


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
    d, again = len(forward.part.axes), times == 1 and forward.near is not None
    places = forward.near if again and forward.near is not None else np.arange(len(forward.allowed))
    gains, singly = np.empty(len(places)), np.empty((d, len(places)))
    agreement = np.empty(len(places) if forward.by_agreement else 0)
    inverse = np.linalg.pinv(forward.covariance, hermitian=True)
    taken = forward.covariance - forward.unexplained
    for block in blocks(len(places)):
        some = places[block] if again else block
        cross, variance = forward.cross(some), forward.variance(some)
        if forward.order:
            loadings = inverse @ cross
            variance -= np.einsum("kp,kp->p", loadings, taken @ loadings)
            np.maximum(variance, forward.shrinkage, out=variance)
            cross = forward.unexplained @ loadings
        gains[block], singly[:, block] = gains_of(cross, variance, forward.own(some)), cross**2 / variance
        if forward.by_agreement:
            agreement[block] = forward.agreement.likely(np.array(forward.order), some)
    wishes: list[tuple[FloatArray, int]] = [(gains, times * BY_GAIN)]
    wishes += [(values, -(-times * BY_COMPONENT // d)) for values in singly]
    if forward.sparse:
        wishes.append((forward.relevance[places], most))
    if forward.by_agreement:
        wishes.append((agreement, times * BY_AGREEMENT))
    free, ties = np.where(forward.allowed[places], 0.0, -np.inf), ties[:, places]
    if forward.near is None:
        forward.near = _joined([_largest(values + free, ties, NEAR * count) for values, count in wishes])
    lists = [places[_largest(values + free, ties, count)] for values, count in wishes]
    return _joined([np.array(forward.order, dtype=np.intp), *lists])


def _joined(lists: list[IntArray]) -> IntArray:
    return np.unique(np.concatenate(lists))


def _largest(values: FloatArray, ties: FloatArray, count: int) -> IntArray:
    """Places of the largest values, those of -inf left out; not many more than `count`, if some are equal."""
    last = float(np.partition(values, -count)[-count]) if count < len(values) else -np.inf
    largest = np.flatnonzero((values >= last - EQUAL * abs(last)) & (values > -np.inf))
    if len(largest) > 2 * count:
        largest = largest[largest_first(np.vstack([values[largest], ties[:, largest]]))[:count]]
    return largest
