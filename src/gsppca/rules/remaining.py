"""The variables that a selection has not chosen, in the order of what each of them would add to those it has."""

from __future__ import annotations

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.rules.forward import gains_of
from gsppca.rules.pool import Pool
from gsppca.rules.ties import EQUAL, largest_first


class Remaining:
    """What each of all variables would add to what a selection has chosen, found for some of them at a time.

    Parameters
    ----------
    pool : Pool
        The pool of the selection, its only one.
    places : ndarray of shape (n_used,)
        Where the variables in question stand among all features.
    """

    def __init__(self, pool: Pool, places: IntArray):
        (self.forward,), self.places = pool.forwards, places
        self.chosen, lower = np.array(self.forward.order, dtype=np.intp), pool.choices(0)[1]
        self.inverse = np.linalg.inv(lower)
        self.slopes = self.forward.cross(self.chosen) @ self.inverse.T
        self.gains = np.empty(len(places))

    def add(self, part: slice, products: FloatArray) -> None:
        """Take some features, given the products of those chosen with them; copies of those chosen wait from now on."""
        some = slice(*np.searchsorted(self.places, [part.start, part.stop]).tolist())
        forward, own = self.forward, self.forward.part
        whole = some.stop - some.start == part.stop - part.start
        moments = (products if whole else products[:, self.places[some] - part.start]) / own.n_rows
        least = (1 - EQUAL) * own.variances[some] * own.variances[self.chosen][:, None]
        forward.postpone(np.flatnonzero(((moments**2 >= least) & (least > 0)).any(axis=0)) + some.start)
        rows = self.inverse @ ((1 - forward.shrinkage) * moments)
        variance = np.maximum(forward.variance(some) - np.einsum("kp,kp->p", rows, rows), forward.shrinkage)
        self.gains[some] = gains_of(forward.cross(some) - self.slopes @ rows, variance, forward.own(some))

    def order(self, ties: FloatArray) -> IntArray:
        """Return the places of those chosen, the others by gain, or by relevance if gains are chance, and copies.

        `ties` decide between equal ones, largest first, shape (n_keys, n_used).
        """
        forward = self.forward
        by = np.where(forward.allowed, forward.relevance if forward.exhausted else self.gains, -np.inf)
        rest = largest_first(np.vstack([by, ties]))[: int(forward.allowed.sum())]
        copies = np.flatnonzero(forward.copies)
        copies = copies[largest_first(ties[:, copies])]
        return np.concatenate([self.chosen, rest, copies]).astype(np.intp)
