"""Which of many variables are worth a place in a pool: a look at all of them, given what was chosen.

With a product of the chosen columns with all, over the rows of each fold, the gain of every variable is known
exactly. Each selection lists the best by their gain, by their gain in each single component, which will count
once other components are known, and chooses from its own list alone: what the others list, they have seen in rows that
it leaves out. When distances between rows begin to count, it lists more for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.rules.forward import Forward, blocks, gains_of
from gsppca.rules.pool import Pool
from gsppca.rules.ties import EQUAL, largest_first

BY_GAIN = BY_AGREEMENT = 128  # variables that a selection lists
BY_COMPONENT = 160  # the same, of all components together

Products = Callable[[slice], FloatArray]


class Outlook:
    """What each variable would bring to a selection.

    Parameters
    ----------
    forward : Forward
        The selection.
    pool : Pool or None
        The pool that its choices were made from; None if there are none.
    chosen : ndarray of int
        Places of the variables whose products with all will be known, ascending.
    to_list : bool
        Whether variables are to be listed.

    Attributes
    ----------
    gains, agreement : ndarray of shape (n_features,)
        The gain of each variable, and the agreement with it; the latter is zero where nothing is chosen.
    """

    def __init__(self, forward: Forward, pool: Pool | None, chosen: IntArray, to_list: bool):
        self.forward, p = forward, len(forward.allowed)
        self.gains, self.agreement = np.empty(p), np.zeros(p)
        self.single: list[list[tuple[IntArray, FloatArray]]] = [[] for _ in forward.part.axes if to_list]
        self.rows, self.fold = np.searchsorted(chosen, forward.order), -1
        if pool is not None and forward.order:
            i = next(i for i, one in enumerate(pool.forwards) if one is forward)
            order, lower = pool.choices(i)
            self.fold, self.inverse = i - 1, np.linalg.inv(lower)
            self.slopes = forward.cross(pool.variables[order]) @ self.inverse.T

    def look_at(self, some: slice, total: FloatArray, sums: FloatArray) -> None:
        """Look at some variables, given products of chosen ones with them, over all rows and over those of each fold.

        Copies of chosen variables then wait.
        """
        forward, part = self.forward, self.forward.part
        cross, variance = forward.cross(some), forward.variance(some)
        if forward.order:
            order = np.array(forward.order)
            moments = total[self.rows] if self.fold < 0 else total[self.rows] - sums[self.fold][self.rows]
            moments /= part.n_rows
            least = (1 - EQUAL) * part.variances[some] * part.variances[order][:, None]
            links = np.square(moments * part.units[some] * part.units[order][:, None]).sum(axis=0)
            self.agreement[some] = forward.agreement.after(*forward.agreement.shared_and_own(some), links)
            copies = ((moments**2 >= least) & (least > 0)).any(axis=0)
            forward.postpone(np.flatnonzero(copies) + some.start)
            rows = self.inverse @ ((1 - forward.shrinkage) * moments)
            cross -= self.slopes @ rows
            variance -= np.einsum("kp,kp->p", rows, rows)
            np.maximum(variance, forward.shrinkage, out=variance)
        self.gains[some] = gains_of(cross, variance, forward.own(some))
        if self.single:
            count = self._by_component
            single = np.where(forward.allowed[some], cross**2 / variance, -np.inf)
            for found, values in zip(self.single, single, strict=True):
                likely = _largest(values, count)
                found.append((likely + some.start, values[likely]))

    @property
    def _by_component(self) -> int:
        return -(-BY_COMPONENT // len(self.forward.part.axes))

    def listed(self, ties: FloatArray, most: int, for_agreement: bool) -> IntArray:
        """Return the variables that the selection lists, and those that it has chosen."""
        forward = self.forward
        lists: list[IntArray] = [np.array(forward.order, dtype=np.intp)]
        wishes: list[tuple[FloatArray, int]] = [(self.gains, BY_GAIN)]
        if forward.sparse:
            wishes.append((forward.relevance, most))
        if for_agreement:
            wishes.append((self.agreement, BY_AGREEMENT))
        for values, count in wishes:
            lists.append(_few(np.arange(len(values)), np.where(forward.allowed, values, -np.inf), ties, count))
        for found in self.single:
            places, values = (np.concatenate(own) for own in zip(*found, strict=True))
            lists.append(_few(places, values, ties, self._by_component))
        return np.unique(np.concatenate(lists))


def outlooks(
    forwards: Sequence[Forward], pool: Pool | None, with_all: Callable[[IntArray], Products], to_list: bool
) -> list[Outlook]:
    """Look at all variables for some selections.

    Parameters
    ----------
    forwards : sequence of Forward
        The selections.
    pool : Pool or None
        The pool that their choices were made from; None if there are none.
    with_all : callable
        From places of variables to their products with all, of a slice, over the rows of each fold.
    to_list : bool
        Whether variables are to be listed.
    """
    chosen = np.unique(np.concatenate([forward.order for forward in forwards])).astype(np.intp)
    products = with_all(chosen) if len(chosen) else None
    found = [Outlook(forward, pool, chosen, to_list) for forward in forwards]
    for some in blocks(len(forwards[0].allowed)):
        sums = np.zeros((1, 0, some.stop - some.start)) if products is None else products(some)
        total = sums.sum(axis=0)
        for one in found:
            one.look_at(some, total, sums)
    return found


def _largest(values: FloatArray, count: int) -> IntArray:
    """Places of the largest values, with all that are equal to the last of them; those of -inf are none."""
    last = float(np.partition(values, -count)[-count]) if count < len(values) else -np.inf
    return np.flatnonzero((values >= last - EQUAL * abs(last)) & (values > -np.inf))


def _few(places: IntArray, values: FloatArray, ties: FloatArray, count: int) -> IntArray:
    """The places of the largest values: not many more than `count`, if some are equal."""
    largest = _largest(values, count)
    if len(largest) > 2 * count:
        largest = largest[largest_first(np.vstack([values[largest], ties[:, places[largest]]]))[:count]]
    return places[largest]
