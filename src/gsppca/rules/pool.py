"""Choices among the variables of a pool, whose products are known.

The selections on all rows and without each fold go together: each step chooses one variable in each of them, and is a
few calls of numpy that serve all. What a selection learns from a choice k is one row of the Cholesky factor of the
shrunken covariance C of the pool: ``y_j = a_j / sqrt(v_k)``, with the residual covariances

    a = C_k - sum_i y_ik y_i      over the choices i before k.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np
from scipy.linalg import solve_triangular

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.rules.forward import Forward, gains_of
from gsppca.rules.pool_products import PoolProducts
from gsppca.rules.ties import EQUAL, places_of_largest

# What a pool has beside arrays with a row for each selection.
SHARED = ("forwards", "numbers", "products", "complete", "n_first", "ties")


class Pool:
    """Some variables, from which several selections choose.

    Parameters
    ----------
    forwards : sequence of Forward
        The selections. They have chosen as many variables each.
    numbers : slice
        Which of all selections these are: 0 is that on all rows, i + 1 the one without fold i.
    lists : ndarray of shape (n_selections, n_features), bool
        The variables that each of them chooses from; all that it has chosen before are among them.
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

    Attributes
    ----------
    variables, places : ndarray of shape (n_selections, n_listed)
        Places of the variables that each selection lists, among all features and in the products. Shorter lists are
        filled up, and what fills them cannot be chosen.
    """

    def __init__(
        self,
        forwards: Sequence[Forward],
        numbers: slice,
        lists: BoolArray,
        variables: IntArray,
        products: PoolProducts,
        ties: FloatArray,
        first: IntArray,
        most: int,
    ):
        self.forwards, self.numbers, self.products = forwards, numbers, products
        self.complete, self.n_first = bool(lists.all()), len(first)
        n, parts = len(forwards), [forward.part for forward in forwards]
        places = [np.flatnonzero(one) for one in lists[:, variables]]
        self.n_listed, width = [len(one) for one in places], max(len(one) for one in places)
        self.places = np.array([np.append(one, np.repeat(one[:1], width - len(one))) for one in places])
        self.variables = variables[self.places]
        self.ties, self.is_first = ties[:, self.variables], np.isin(self.variables, first)
        self.n_rows = np.array([[part.n_rows] for part in parts])
        self.shrinkage = np.array([[forward.shrinkage] for forward in forwards])
        deviations = np.sqrt([part.variances[own] for part, own in zip(parts, self.variables, strict=True)])
        self.scales = 1 / np.where(deviations > 0, deviations, np.inf)
        self.units, self.relevance = parts[0].units[self.variables], forwards[0].relevance[self.variables]
        each = list(zip(forwards, self.variables, strict=True))
        sums = [forward.agreement.shared_and_own(own) for forward, own in each]
        self.shared, self.own = np.array([one for one, _ in sums]), np.array([other for _, other in sums])
        self.weights = np.array([forward.part.weights(own) for forward, own in each]) if forwards[0].sparse else None
        self.cross = np.array([forward.cross(own) for forward, own in each])
        self.variance = np.array([forward.variance(own) for forward, own in each])
        self.links = np.zeros((n, width))  # sums of squared second moments with those chosen
        self.closed = np.empty((n, width))  # -inf for what cannot be chosen
        self.factor = np.empty((n, most, width))  # rows of the Cholesky factor, one for each choice
        for i in range(n):
            self._open(i)
            if forwards[i].order:
                self._repeat(i)

    def of(self, some: slice) -> Pool:
        """Some of the selections, and the variables that they list: what each would choose from here is the same."""
        pool, start = copy(self), self.numbers.start
        pool.forwards, pool.numbers = self.forwards[some], slice(start + some.start, start + some.stop)
        for name, values in vars(self).items():
            if name not in SHARED and values is not None:
                setattr(pool, name, values[some])
        pool.ties = self.ties[:, some]
        if not self.complete:
            kept = np.unique(pool.places)
            pool.places, pool.products = np.searchsorted(kept, pool.places), self.products.among(kept)
        return pool

    @property
    def n_chosen(self) -> int:
        """How many variables each of the selections has chosen."""
        return len(self.forwards[0].order)

    def _open(self, i: int) -> None:
        self.closed[i] = np.where(self.forwards[i].allowed[self.variables[i]], 0.0, -np.inf)
        self.closed[i, self.n_listed[i] :] = -np.inf

    def _chosen(self, i: int) -> IntArray:
        """Where the variables that a selection has chosen stand among those it lists."""
        return np.searchsorted(self.variables[i, : self.n_listed[i]], self.forwards[i].order)

    def _repeat(self, i: int) -> None:
        """Take into account what a selection has chosen before."""
        order = self._chosen(i)
        moments = self.products.of_some(self.numbers.start + i, self.places[i, order], self.places[i]) / self.n_rows[i]
        self.links[i] = np.square(moments * self.units[i] * self.units[i, order][:, None]).sum(axis=0)
        copies = (np.abs(moments * self.scales[i]) >= (1 - EQUAL / 2) / self.scales[i, order][:, None]).any(axis=0)
        self._close(i, copies)
        moments *= 1 - self.shrinkage[i]
        moments[np.arange(len(order)), order] += self.shrinkage[i]
        inverse = np.linalg.inv(np.linalg.cholesky(moments[:, order]))
        rows = np.matmul(inverse, moments, out=self.factor[i, : len(order)])
        self.cross[i] -= (self.cross[i][:, order] @ inverse.T) @ rows
        self.variance[i] -= np.einsum("kp,kp->p", rows, rows)
        np.maximum(self.variance[i], self.shrinkage[i], out=self.variance[i])

    @property
    def spent(self) -> BoolArray:
        """Which selections have nothing left to choose here, but elsewhere; shape (n_selections,)."""
        return (self.closed.max(axis=1) < 0) & (not self.complete)

    @property
    def wanting(self) -> BoolArray:
        """Which selections have to list others: they are spent, or have begun to choose by agreement."""
        begun = [forward.by_agreement and not forward.listed_by_agreement for forward in self.forwards]
        return self.spent | (np.array(begun) & (not self.complete))

    def advance(self, count: int) -> None:
        """Choose some variables in each of the selections; fewer if others have to be listed before."""
        for _ in range(count):
            if self.wanting.any():
                break
            self._step()

    def _step(self) -> None:
        """Choose one variable in each of the selections, and update all variables of the pool."""
        every, done, factor = np.arange(len(self.forwards)), self.n_chosen, self.factor
        places, best = self._best()
        roots = np.sqrt(self.variance[every, places])[:, None]
        chosen = self.cross[every, :, places] / roots
        added = np.array([values[every, places] for values in (self.shared, self.own, self.links)]).T.tolist()
        variables = self.variables[every, places].tolist()
        steps = zip(self.forwards, variables, best.tolist(), chosen, added, strict=True)
        for forward, k, value, slopes, own in steps:
            if forward.by_agreement and done >= self.n_first and value <= forward.agreement.value:
                forward.settled = True  # it cannot be raised any more
            forward.accept(k, slopes, *own)
        moments = self.products.of_one(self.numbers, self.places[every, places])
        moments = (moments if self.complete else moments[every[:, None], self.places]) / self.n_rows
        self._postpone(places, moments)
        self.closed[every, places] = -np.inf
        self.links += np.square(moments * (self.units * self.units[every, places][:, None]))
        row = np.multiply(moments, 1 - self.shrinkage, out=moments)
        row[every, places] += self.shrinkage[:, 0]
        row -= (factor[every, :done, places][:, None] @ factor[:, :done])[:, 0]
        row /= roots
        factor[:, done] = row
        self.cross -= chosen[:, :, None] * row[:, None, :]
        self.variance -= row**2
        np.maximum(self.variance, self.shrinkage, out=self.variance)

    def _best(self) -> tuple[IntArray, FloatArray]:
        """Place of the best variable for each of the selections, and what it is the best by."""
        values = gains_of(self.cross, self.variance, self.weights)
        if self.n_chosen < self.n_first:
            values[~self.is_first] = -np.inf
        else:
            self._decide_by(values)
        values += self.closed
        places = places_of_largest(values, self.ties)
        return places, values[np.arange(len(places)), places]

    def _decide_by(self, values: FloatArray) -> None:
        """Replace the gains where something else decides."""
        closed = self.closed.max(axis=1) < 0
        for i, forward in enumerate(self.forwards):
            if closed[i]:
                forward.allow_copies()
                self._open(i)
            if forward.sparse and not forward.exhausted:
                forward.exhausted = forward.is_chance(float((values[i] + self.closed[i]).max()))
            if forward.exhausted:
                values[i] = self.relevance[i]
            elif forward.by_agreement:
                values[i] = forward.agreement.after(self.shared[i], self.own[i], self.links[i])

    def _postpone(self, places: IntArray, moments: FloatArray) -> None:
        """Let copies of what was chosen wait."""
        own = self.scales[np.arange(len(places)), places][:, None]
        copies = np.abs(moments * self.scales * own) >= 1 - EQUAL / 2
        if np.count_nonzero(copies) > len(places):
            for i, same in enumerate(copies):
                self._close(i, same)

    def _close(self, i: int, copies: BoolArray) -> None:
        """Let copies wait, unless they are to be included."""
        if not self.forwards[i].copies_count:
            waiting = copies & (self.closed[i] == 0) & ~self.is_first[i]
            self.forwards[i].postpone(self.variables[i, waiting])
            self.closed[i, waiting] = -np.inf

    def choices(self, i: int) -> tuple[IntArray, FloatArray]:
        """Where what a selection has chosen stands in the products, and the Cholesky factor of its covariance."""
        order = self._chosen(i)
        return self.places[i, order], np.tril(self.factor[i, : len(order)][:, order].T)

    def errors(self) -> FloatArray:
        """Sums of squares, over the folds, of what the selections without them do not predict of each score.

        Returns
        -------
        errors : ndarray of shape (n_chosen + 1, n_components)
            With none chosen, with one, two, ...
        """
        numbers = range(max(self.numbers.start, 1), self.numbers.stop)
        return np.sum([self._errors(number - self.numbers.start, number - 1) for number in numbers], axis=0)

    def _errors(self, i: int, fold: int) -> FloatArray:
        """Sums of squares over one fold, of one selection.

        With the Cholesky factor L of the covariance of the chosen, the residual of each column on those before it is
        one of ``R = Z_C L'^-1``, and the scores are predicted as ``R E``, with the slopes ``E = L^-1 C_C W'``.
        """
        order, lower = self.choices(i)
        gram, with_scores = self.products.left_out(fold, order)
        between = _solved(lower, _solved(lower, gram).T)
        slopes = _solved(lower, self.forwards[i].cross(np.array(self.forwards[i].order)).T)
        # What a residual finds left: less the predictions by those before it.
        found = _solved(lower, with_scores) - np.tril(between, -1) @ slopes
        steps = slopes * (slopes * between.diagonal()[:, None] - 2 * found)
        start = self.products.score_squares[fold]
        return np.maximum(np.vstack([start, start + np.cumsum(steps, axis=0)]), 0.0)


def _solved(lower: FloatArray, right: FloatArray) -> FloatArray:
    return solve_triangular(lower, right, lower=True, check_finite=False)
