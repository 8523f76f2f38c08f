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

from typing import NamedTuple

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.rules.forward import Forward, blocks, gains_of
from gsppca.rules.ties import EQUAL, largest_first

BY_GAIN = BY_AGREEMENT = 128  # variables that a selection lists
BY_COMPONENT = 160  # the same, of all components together
NEAR = 16  # times as many as are listed: what later lists look at


class Likely(NamedTuple):
    """What is known of some variables with nothing chosen, from which follows about what they would add later.

    Attributes
    ----------
    loadings : ndarray of shape (n_components, n_some)
        Their covariances with the scores, times the inverse of the covariance of these.
    variance : ndarray of shape (n_some,)
        Their variances.
    own : ndarray of shape (n_components, n_some) or None
        Their weights in the scores that do not count; None where all do.
    """

    loadings: FloatArray
    variance: FloatArray
    own: FloatArray | None

    @classmethod
    def of(cls, forward: Forward, some: slice | IntArray) -> Likely:
        """Look at some variables."""
        inverse = np.linalg.pinv(forward.covariance, hermitian=True)
        return cls(inverse @ forward.cross(some), forward.variance(some), forward.own(some))

    def gains(self, forward: Forward) -> tuple[FloatArray, FloatArray]:
        """About what each variable would add to those chosen, in all, and to each component."""
        known = (forward.covariance - forward.unexplained) @ self.loadings
        variance = self.variance - np.einsum("kp,kp->p", self.loadings, known)
        np.maximum(variance, forward.shrinkage, out=variance)
        cross = forward.unexplained @ self.loadings
        return gains_of(cross, variance, self.own), cross**2 / variance


def listed(forward: Forward, ties: FloatArray, most: int, times: int = 1) -> BoolArray:
    """Return which variables a selection lists, those that it has chosen among them, shape (n_features,).

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
    d, p = len(forward.part.axes), len(forward.allowed)
    places: IntArray = np.arange(p)
    if forward.near is None or times > 1:
        seen = [Likely.of(forward, some).gains(forward) for some in blocks(p)]
        gains, singly = np.concatenate([one for one, _ in seen]), np.concatenate([other for _, other in seen], axis=1)
    else:
        places, (gains, singly) = forward.near[0], forward.near[1].gains(forward)
    wishes: list[tuple[FloatArray, int]] = [(gains[None], times * BY_GAIN), (singly, -(-times * BY_COMPONENT // d))]
    if forward.sparse:
        wishes.append((forward.relevance[None, places], most))
    forward.listed_by_agreement = forward.by_agreement
    if forward.by_agreement:
        chosen = np.array(forward.order, dtype=np.intp)
        agreement = [forward.agreement.likely(chosen, places[some]) for some in blocks(len(places))]
        wishes.append((np.concatenate(agreement)[None], times * BY_AGREEMENT))
    free = np.where(forward.allowed[places], 0.0, -np.inf)
    wishes = [(values + free, count) for values, count in wishes]
    if forward.near is None:
        near = places[np.flatnonzero(_largest(wishes, places, ties, NEAR))]
        forward.near = near, Likely.of(forward, near)
    found = np.zeros(p, dtype=bool)
    found[forward.order] = True
    found[places[_largest(wishes, places, ties)]] = True
    return found


def _largest(wishes: list[tuple[FloatArray, int]], places: IntArray, ties: FloatArray, times: int = 1) -> BoolArray:
    """Which values are the largest of a row, but not -inf; not many more than the count, if some are equal.

    Parameters
    ----------
    wishes : list of (ndarray of shape (n_rows, n_values), int)
        Values, and how many of each row.
    places : ndarray of shape (n_values,)
        The variables that they belong to.
    ties : ndarray of shape (n_keys, n_features)
        What decides between equal ones, largest first.
    times : int, default=1
        How many times as many.
    """
    found = np.zeros(len(places), dtype=bool)
    for values, count in wishes:
        count = min(times * count, len(places))
        last = np.partition(values, -count, axis=1)[:, -count]
        last -= EQUAL * np.where(last > -np.inf, np.abs(last), 0.0)
        largest = (values >= last[:, None]) & (values > -np.inf)
        for row in np.flatnonzero(np.count_nonzero(largest, axis=1) > 2 * count):
            some = np.flatnonzero(largest[row])
            largest[row] = False
            largest[row, some[largest_first(np.vstack([values[row, some], ties[:, places[some]]]))[:count]]] = True
        found |= largest.any(axis=0)
    return found
