"""Which of many variables are worth a place in a pool, as far as the components tell: this needs no data.

Given chosen variables, covariances are taken for those of a factor model whose factors are the scores. With P the
covariance of the scores, and Q what is left of it by the chosen ones, which is known exactly, a variable k of variance
v_k and covariances c_k with the scores has about

    c_k -> Q P^-1 c_k,      v_k -> v_k - c_k' P^-1 (P - Q) P^-1 c_k .

Each selection lists the best by their gain, by their gain in each single component, which will count once other
components are known, and, when that decides, by agreement or relevance. It chooses from its own list alone: what the
others list, they have seen in rows that it leaves out. All variables are looked at once, with nothing chosen; lists
look at those that were near the best then, which are some thousands at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.rules.forward import Forward, blocks, gains_of
from gsppca.rules.ties import EQUAL, largest_first

BY_GAIN = BY_AGREEMENT = 128  # variables that a selection lists
BY_COMPONENT = 160  # the same, of all components together
NEAR = 16  # times as many as are listed: what lists look at
NONE: IntArray = np.empty(0, dtype=np.intp)


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
        return cls(forward.inverse @ forward.cross(some), forward.variance(some), forward.own(some))

    def gains(self, forward: Forward) -> tuple[FloatArray, FloatArray]:
        """About what each variable would add to those chosen, in all, and to each component."""
        known = (forward.covariance - forward.unexplained) @ self.loadings
        variance = self.variance - np.einsum("kp,kp->p", self.loadings, known)
        np.maximum(variance, forward.shrinkage, out=variance)
        cross = forward.unexplained @ self.loadings
        return gains_of(cross, variance, self.own), cross**2 / variance


def look(forward: Forward, ties: FloatArray, most: int, first: IntArray = NONE) -> tuple[FloatArray, FloatArray]:
    """Look at all variables, and let a selection know those that its lists will look at; return their gains.

    Parameters are those of `listed`, the gains those of `Likely`.
    """
    forward.see(forward.part.whole())
    p = len(forward.allowed)
    gains, singly = np.empty((1, p)), np.empty((len(forward.covariance), p))
    for some in blocks(p):
        gains[0, some], singly[:, some] = Likely.of(forward, some).gains(forward)
    near = _largest(_wishes(forward, gains, singly, np.arange(p), most), ties, NEAR)
    near[forward.order] = near[first] = True
    places = np.flatnonzero(near)
    forward.near = places, Likely.of(forward, places)
    forward.see(forward.part.of(places))
    return gains[0, places], singly[:, places]


def listed(forward: Forward, ties: FloatArray, most: int, times: int = 1, first: IntArray = NONE) -> BoolArray:
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
        How many times as many variables as usual are listed; with more than one, all are looked at again.
    first : ndarray of int, optional
        Variables that are listed in any case.
    """
    if forward.near is None or times > 1:
        gains, singly = look(forward, ties, most, first)
    else:
        gains, singly = forward.near[1].gains(forward)
    assert forward.near is not None
    places = forward.near[0]
    wishes = _wishes(forward, gains[None], singly, places, most, times)
    forward.listed_by_agreement = forward.by_agreement
    found = np.zeros(len(forward.allowed), dtype=bool)
    found[forward.order] = found[first] = True
    found[places[_largest(wishes, ties[:, places])]] = True
    return found


def near_the_best(forward: Forward, ties: FloatArray, most: int, times: int) -> IntArray:
    """Return some times as many variables as a selection would list now; parameters are those of `listed`."""
    assert forward.near is not None
    places, likely = forward.near
    gains, singly = likely.gains(forward)
    return places[_largest(_wishes(forward, gains[None], singly, places, most, times), ties[:, places])]


def _wishes(
    forward: Forward, gains: FloatArray, singly: FloatArray, places: IntArray, most: int, times: int = 1
) -> list[tuple[FloatArray, int]]:
    """Values by which variables are listed, in rows, and how many of each; -inf for those that cannot be chosen.

    Parameters
    ----------
    gains, singly : ndarray of shape (1, n_places) and (n_components, n_places)
        About what each variable would add, in all, and to each component: overwritten.
    places : ndarray of shape (n_places,)
        The variables.
    """
    wishes = [(gains, times * BY_GAIN), (singly, -(-times * BY_COMPONENT // len(singly)))]
    if forward.sparse:
        wishes.append((forward.relevance[None, places], most))
    if forward.by_agreement:
        chosen = np.array(forward.order, dtype=np.intp)
        agreement = [forward.agreement.likely(chosen, places[some]) for some in blocks(len(places))]
        wishes.append((np.concatenate(agreement)[None], times * BY_AGREEMENT))
    closed = ~forward.allowed[places]
    for values, _ in wishes:
        values[:, closed] = -np.inf
    return wishes


def _largest(wishes: list[tuple[FloatArray, int]], ties: FloatArray, times: int = 1) -> BoolArray:
    """Which values are the largest of a row, but not -inf; not many more than the count, if some are equal.

    Parameters
    ----------
    wishes : list of (ndarray of shape (n_rows, n_values), int)
        Values, and how many of each row.
    ties : ndarray of shape (n_keys, n_values)
        What decides between equal ones, largest first.
    times : int, default=1
        How many times as many.
    """
    found = np.zeros(ties.shape[1], dtype=bool)
    for rows, count in wishes:
        count = min(times * count, len(found))
        for values in rows:
            last = np.partition(values, -count)[-count]
            largest = np.flatnonzero(values >= last - EQUAL * abs(last) if last > -np.inf else values > last)
            if len(largest) > 2 * count:
                largest = largest[largest_first(np.vstack([values[largest], ties[:, largest]]))[:count]]
            found[largest] = True
    return found
