"""Choices among the variables of a pool, whose products are known.

The selections on all rows and without each fold go together: each step chooses one variable in each of them, and is a
few calls of numpy that serve all. What a selection learns from a choice k is one row of the Cholesky factor of the
shrunken covariance C of the pool: ``y_j = a_j / sqrt(v_k)``, with the residual covariances

    a = C_k - sum_i y_ik y_i      over the choices i before k.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import solve_triangular

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.rules.forward import SMALL_BLOCK, Forward, blocks, gains_of
from gsppca.rules.pool_products import PoolProducts
from gsppca.rules.ties import EQUAL, places_of_largest


class Pool:
    """Some variables, from which several selections choose.

    Parameters
    ----------
    forwards : sequence of Forward
        The selections: on all rows, and without each fold. Those without a fold have chosen as many variables each.
    lists : sequence of ndarray of int
        Places of the variables that each of them chooses from; all that it has chosen before are among them.
    variables : ndarray of shape (n_pool,)
        Places of the variables of the pool, ascending: all that are listed.
    products : PoolProducts
        Of these variables.
    ties : ndarray of shape (n_keys, n_features)
        What decides between equal gains, largest first.
    first : ndarray of int
        Places of the variables that enter first.
    most : int
        How many variables are chosen at most.
    """

    def __init__(
        self,
        forwards: Sequence[Forward],
        lists: Sequence[IntArray],
        variables: IntArray,
        products: PoolProducts,
        ties: FloatArray,
        first: IntArray,
        most: int,
    ):
        self.forwards, self.variables, self.products = forwards, variables, products
        self.complete = len(variables) == ties.shape[1]
        self.for_agreement = any(forward.by_agreement for forward in forwards)
        self.ties = [ties[:, variables]] * len(forwards)
        self.n_first, self.is_first = len(first), np.isin(variables, first)
        n, width, parts = len(forwards), len(variables), [forward.part for forward in forwards]
        self.n_rows = np.array([[part.n_rows] for part in parts])
        self.shrinkage = np.array([[forward.shrinkage] for forward in forwards])
        deviations = np.sqrt([part.variances[variables] for part in parts])
        self.scales = 1 / np.where(deviations > 0, deviations, np.inf)
        self.units = parts[0].units[variables]
        sums = [forward.agreement.shared_and_own(variables) for forward in forwards]
        self.shared, self.own = np.array([one for one, _ in sums]), np.array([other for _, other in sums])
        self.weights = np.array([part.axes[:, variables] for part in parts]) if forwards[0].sparse else None
        self.relevance = forwards[0].relevance[variables]
        self.cross = np.array([forward.cross(variables) for forward in forwards])
        self.variance = np.array([forward.variance(variables) for forward in forwards])
        self.links = np.zeros((n, width))  # sums of squared second moments with those chosen
        self.listed = np.array([np.isin(variables, own) for own in lists])
        self.closed = np.empty((n, width))  # -inf for what cannot be chosen
        self.factor = np.empty((n, most, width))  # rows of the Cholesky factor, one for each choice
        for i in range(n):
            self._open(i)
            if forwards[i].order:
                self._repeat(i)

    def _open(self, i: int) -> None:
        self.closed[i] = np.where(self.listed[i] & self.forwards[i].allowed[self.variables], 0.0, -np.inf)

    def _repeat(self, i: int) -> None:
        """Take into account what a selection has chosen before."""
        order = np.searchsorted(self.variables, self.forwards[i].order)
        moments = self.products.of_some(i, order) / self.n_rows[i]
        self.links[i] = np.square(moments * self.units * self.units[order][:, None]).sum(axis=0)
        copies = (np.abs(moments * self.scales[i]) >= (1 - EQUAL / 2) / self.scales[i, order][:, None]).any(axis=0)
        self._close(i, copies)
        moments *= 1 - self.shrinkage[i]
        moments[np.arange(len(order)), order] += self.shrinkage[i]
        lower = np.linalg.cholesky(moments[:, order])
        rows = _solved(lower, moments)
        self.factor[i, : len(order)] = rows
        self.cross[i] -= _solved(lower, self.cross[i][:, order].T).T @ rows
        self.variance[i] -= np.einsum("kp,kp->p", rows, rows)
        np.maximum(self.variance[i], self.shrinkage[i], out=self.variance[i])

    def is_spent(self, which: slice) -> bool:
        """Whether some selections have nothing left to choose here, but elsewhere."""
        return not self.complete and bool((self.closed[which].max(axis=1) < 0).any())

    def is_for_less(self, which: slice) -> bool:
        """Whether some selections begin to choose by agreement, for which nothing is listed here."""
        if self.complete or self.for_agreement:
            return False
        return any(forward.by_agreement for forward in self.forwards[which])

    def advance(self, which: slice, count: int) -> None:
        """Choose some variables in each of some selections; fewer if others have to be listed before."""
        for _ in range(count):
            if self.is_spent(which) or self.is_for_less(which):
                break
            self._step(which)

    def _step(self, which: slice) -> None:
        """Choose one variable in each of some selections, and update all variables of the pool."""
        forwards, shrinkage = self.forwards[which], self.shrinkage[which]
        cross, variance, factor = self.cross[which], self.variance[which], self.factor[which]
        every, done = np.arange(len(forwards)), len(forwards[0].order)
        places, best = self._best(which)
        roots = np.sqrt(variance[every, places])[:, None]
        chosen = cross[every, :, places] / roots
        sums = (self.shared[which], self.own[which], self.links[which])
        added = np.array([values[every, places] for values in sums]).T.tolist()
        for forward, k, value, slopes, own in zip(forwards, places.tolist(), best.tolist(), chosen, added, strict=True):
            if forward.by_agreement and done >= self.n_first and value <= forward.agreement.value:
                forward.settled = True  # it cannot be raised any more
            forward.accept(int(self.variables[k]), slopes, *own)
        moments = self.products.of_one(which, places) / self.n_rows[which]
        self._postpone(which, places, moments)
        self.closed[which][every, places] = -np.inf
        self.links[which] += np.square(moments * (self.units * self.units[places][:, None]))
        row = np.multiply(moments, 1 - shrinkage, out=moments)
        row[every, places] += shrinkage[:, 0]
        row -= (factor[every, :done, places][:, None] @ factor[:, :done])[:, 0]
        row /= roots
        factor[:, done] = row
        cross -= chosen[:, :, None] * row[:, None, :]
        variance -= row**2
        np.maximum(variance, shrinkage, out=variance)

    def _best(self, which: slice) -> tuple[IntArray, FloatArray]:
        """Place of the best variable for each of some selections, and what it is the best by."""
        weights = None if self.weights is None else self.weights[which]
        values = gains_of(self.cross[which], self.variance[which], weights)
        if len(self.forwards[which][0].order) < self.n_first:
            values[:, ~self.is_first] = -np.inf
        else:
            self._decide_by(which, values)
        values += self.closed[which]
        places = places_of_largest(values, self.ties)
        return places, values[np.arange(len(places)), places]

    def _decide_by(self, which: slice, values: FloatArray) -> None:
        """Replace the gains where something else decides."""
        closed = self.closed[which].max(axis=1) < 0
        for row, (i, forward) in enumerate(list(enumerate(self.forwards))[which]):
            if closed[row]:
                forward.allow_copies()
                self._open(i)
            if forward.sparse and not forward.exhausted:
                forward.exhausted = forward.is_chance(float((values[row] + self.closed[i]).max()))
            if forward.exhausted:
                values[row] = self.relevance
            elif forward.by_agreement:
                values[row] = forward.agreement.after(self.shared[i], self.own[i], self.links[i])

    def _postpone(self, which: slice, places: IntArray, moments: FloatArray) -> None:
        """Let copies of what was chosen wait."""
        scales = self.scales[which]
        own = scales[np.arange(len(places)), places][:, None]
        copies = np.abs(moments * scales * own) >= 1 - EQUAL / 2
        if np.count_nonzero(copies) > len(places):
            for i, same in zip(range(which.start, which.stop), copies, strict=True):
                self._close(i, same)

    def _close(self, i: int, copies: BoolArray) -> None:
        """Let copies wait, unless they are to be included."""
        if not self.forwards[i].copies_count:
            waiting = copies & (self.closed[i] == 0) & ~self.is_first
            self.forwards[i].postpone(self.variables[waiting])
            self.closed[i, waiting] = -np.inf

    def choices(self, i: int) -> tuple[IntArray, FloatArray]:
        """Places of what a selection has chosen, and the Cholesky factor of its shrunken covariance."""
        order = np.searchsorted(self.variables, self.forwards[i].order)
        return order, np.tril(self.factor[i, : len(order)][:, order].T)

    def gains_of_all(self, with_all: Callable[[IntArray], Callable[[slice], FloatArray]]) -> FloatArray:
        """What each of all variables would add to what the selection on all rows has chosen; its copies then wait.

        `with_all` returns, for places of variables, their products with those of a slice.
        """
        forward, part = self.forwards[0], self.forwards[0].part
        order, lower = self.choices(0)
        chosen = self.variables[order]
        products, inverse = with_all(chosen), np.linalg.inv(lower)
        slopes, gains = forward.cross(chosen) @ inverse.T, np.empty(len(forward.allowed))
        for some in blocks(len(gains), SMALL_BLOCK):
            moments = products(some) / part.n_rows
            least = (1 - EQUAL) * part.variances[some] * part.variances[chosen][:, None]
            forward.postpone(np.flatnonzero(((moments**2 >= least) & (least > 0)).any(axis=0)) + some.start)
            rows = inverse @ ((1 - forward.shrinkage) * moments)
            variance = np.maximum(forward.variance(some) - np.einsum("kp,kp->p", rows, rows), forward.shrinkage)
            gains[some] = gains_of(forward.cross(some) - slopes @ rows, variance, forward.own(some))
        return gains

    def errors(self, fold: int) -> FloatArray:
        """Sums of squares, over a fold, of what the selection without it does not predict of each score.

        Returns
        -------
        errors : ndarray of shape (n_chosen + 1, n_components)
            With none chosen, with one, two, ...

        With the Cholesky factor L of the covariance of the chosen, the residual of each column on those before it is
        one of ``R = Z_C L'^-1``, and the scores are predicted as ``R E``, with the slopes ``E = L^-1 C_C W'``.
        """
        order, lower = self.choices(fold + 1)
        gram, with_scores = self.products.left_out(fold, order)
        between = _solved(lower, _solved(lower, gram).T)
        slopes = _solved(lower, self.forwards[fold + 1].cross(self.variables[order]).T)
        # What a residual finds left: less the predictions by those before it.
        found = _solved(lower, with_scores) - np.tril(between, -1) @ slopes
        steps = slopes * (slopes * between.diagonal()[:, None] - 2 * found)
        start = self.products.score_squares[fold]
        return np.maximum(np.vstack([start, start + np.cumsum(steps, axis=0)]), 0.0)


def _solved(lower: FloatArray, right: FloatArray) -> FloatArray:
    return solve_triangular(lower, right, lower=True, check_finite=False)
