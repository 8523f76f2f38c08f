"""Forward selection of the variables that predict some scores, under a shrunken covariance: a pivoted Cholesky.

The covariance of the standardised variables is taken as ``C = (1 - l) S + l I``, with S their second moments over some
rows. The scores are ``t = W x``, linear in the variables, so that their covariance with the variables is ``W C``.
Given chosen variables S, every variable k has a residual variance v_k and a residual covariance c_k with the scores;
choosing k reduces the variance of the scores that is not yet explained, summed over components, by

    gain_k = ||c_k||^2 / v_k .

The best is chosen, and all others are updated by their residual covariance a with it:

    c_j -= a_j c_k / v_k,      v_j -= a_j^2 / v_k,      a = (1 - l) Z'r / n + l (its coefficients),

where r is the residual of column k on the chosen ones: a combination of them, so that no factor of the size of the data
is kept, and the same r carries the prediction of the scores to rows that were left out. How combinations are held, and
their products found, is left to `columns`.

Where most variables are noise, some of those taken for relevant may be noise too, and the order must not prefer them:
a noise variable is a component of its own, which nothing else predicts. Two things change (`sparse`):

    gain_k = ||c_k - v_k w_k||^2 / v_k      counts what k tells of the scores of all *others*: w_k is its own weight;

and as soon as the best gain is less than `CHANCE` times what a variable without any relation would have by chance,
trace(P) / n, with P the residual covariance of the scores, the others follow by their relevance: the structure is
known, and what they would add to it is chance.

Elsewhere the distances between rows are to be kept too (`agreement`): once `PROMISED` of the variance of the scores is
explained in the model, those variables are chosen on which, with the others, the rows lie most alike to where their
scores are, until they lie alike enough or no variable helps. Then the gain decides again.

Variables are chosen in batches, because a product with the data costs almost the same for sixteen residuals as for
one, and data on disk is read once for all of them:

1. The batches are as large as the number chosen before: 1, 1, 2, 4, 8, ..., up to a limit.
2. Candidates for a batch are those that a factor model would choose, whose factors are the scores:
   cov(x_j, x_k | chosen) = c_j' P^-1 c_k, with P the residual covariance of the scores. It needs no data.
3. Among the candidates the choice is exact: all products of their columns are known.

With at most `EXACT` variables all are candidates, and the result is that of the exact forward selection.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.rules.agreement import Agreement
from gsppca.rules.parts import Part
from gsppca.rules.ties import EQUAL, largest_first, place_of_largest

EXACT = 64
CHANCE = 3.0
PROMISED = 0.94  # in the model, which promises a few points more than it keeps: about 0.9 on other rows
SIMULATED = 512  # variables, of the largest gain, among which the factor model chooses


class Forward:
    """One forward selection, on some of the rows.

    Parameters
    ----------
    part : Part
        Axes W, moments ``W S`` and variances, the diagonal of S, of some of the rows; the scores of the others are
        predicted.
    shrinkage : float
        l, above zero.
    allowed : ndarray of shape (n_features,), bool
        The variables that may be chosen.
    ties : ndarray of shape (n_keys, n_features)
        What decides between equal gains, largest first.
    largest_batch : int
        Most variables that are chosen at once.
    sparse : bool
        Whether most variables are noise: see above.
    relevance : ndarray of shape (n_features,), optional
        The order of what is left when gains are chance; by default the gain of each variable alone.

    Attributes
    ----------
    order : list of int
        The variables chosen so far.
    explained : list of float
        Variance of the scores explained in the model, after each choice, of `total`.
    errors : list of ndarray of shape (n_components,)
        Sums of squares, over the rows left out, of what the chosen variables do not predict; first with none chosen.
    settled : int or None
        How many were chosen when the distances between rows were kept; 0 if they were as soon as that was asked, None
        before.
    """

    def __init__(
        self,
        part: Part,
        shrinkage: float,
        allowed: BoolArray,
        ties: FloatArray,
        largest_batch: int,
        sparse: bool = False,
        relevance: FloatArray | None = None,
    ):
        self.part, self.shrinkage = part, shrinkage
        self.allowed, self.ties, self.largest_batch = allowed.copy(), ties, largest_batch
        self.copies = np.zeros(len(allowed), dtype=bool)  # of chosen variables: chosen when nothing else is left
        self.weight = (1 - shrinkage) / part.n_rows
        self.cross = (1 - shrinkage) * part.moments + shrinkage * part.axes
        self.variance = (1 - shrinkage) * part.variances + shrinkage
        self.unexplained = self.cross @ part.axes.T  # covariance of the scores, given the chosen
        self.total = float(self.unexplained.trace())
        self.own = part.axes if sparse else np.zeros((1, 1))  # weights that do not count
        self.sparse, self.exhausted = sparse, False
        self.relevance = self.gains if relevance is None else relevance
        self.order: list[int] = []
        self.explained: list[float] = []
        self.errors = [part.columns.errors]
        self.agreement = Agreement(part)
        self.promised = False  # whether enough is explained in the model, so that the agreement decides
        self.settled: int | None = None
        self.residuals = np.empty((part.columns.length, 0))  # of the chosen columns
        self.mixing = np.empty((0, 0))  # the chosen columns are combinations of their residuals: residuals @ mixing
        self.pivots = np.empty(0)  # their residual variances

    @property
    def gains(self) -> FloatArray:
        """What each variable that may be chosen would add; -1 for the others."""
        return np.where(self.allowed, _gains(self.cross, self.variance, self.own), -1.0)

    def _own_of(self, variables: IntArray) -> FloatArray:
        return self.own[:, variables] if self.sparse else self.own

    def _is_chance(self, best: float) -> bool:
        """Whether the best gain could be that of a variable without any relation to the scores."""
        return self.sparse and best < CHANCE * float(self.unexplained.trace()) / self.part.n_rows

    @property
    def _by_agreement(self) -> bool:
        """Whether the next choice is made by the distances between rows."""
        return self.promised and self.settled is None

    def _settle(self) -> None:
        """See whether the distances between rows are kept."""
        if self.settled is None and not self.sparse and self.explained[-1] >= PROMISED * self.total:
            if self.agreement.value >= self.agreement.wanted:
                self.settled = len(self.order) if self.promised else 0
            self.promised = True

    def _asks_anew(self, best: float, by_agreement: bool) -> bool:
        """Whether other candidates than these are needed, of which the best gain or agreement is given."""
        if self._by_agreement != by_agreement:
            return True
        return best <= self.agreement.value if by_agreement else self._is_chance(best)

    def batch(self) -> int:
        """How many variables to choose next."""
        return min(max(1, len(self.order)), self.largest_batch)

    def pool(self, count: int) -> IntArray:
        """Return the candidates of the next `count` choices, ascending."""
        if not self.allowed.any():
            self.allowed, self.copies = self.copies, np.zeros_like(self.copies)
            return np.flatnonzero(self.allowed)[:EXACT]
        n_allowed, gains = int(self.allowed.sum()), self.gains
        self.exhausted = self.exhausted or self._is_chance(gains.max())
        if n_allowed <= EXACT:
            return np.flatnonzero(self.allowed)
        if self.exhausted:
            relevance = np.where(self.allowed, self.relevance, -np.inf)
            return np.sort(largest_first(np.vstack([relevance, self.ties]))[: min(count, n_allowed)])
        if self._by_agreement:
            likely = np.where(self.allowed, self.agreement.likely(), -1.0)
            return np.sort(largest_first(np.vstack([likely, self.ties]))[: max(EXACT, 2 * count)])
        if count == 1:
            # The best, and its equals.
            equal = np.flatnonzero(gains >= (1 - EQUAL) * gains.max())
            return np.sort(equal[largest_first(self.ties[:, equal])[:EXACT]])
        top = np.argpartition(-gains, min(SIMULATED, n_allowed) - 1)[:SIMULATED]
        top = np.sort(top[gains[top] >= 0])
        best = top[largest_first(np.vstack([gains[top], self.ties[:, top]]))[:count]]
        return np.union1d(best, top[self._simulated(top, 2 * count)])

    def _simulated(self, top: IntArray, count: int) -> IntArray:
        """Places in `top` that a factor model would choose, with the scores as its factors."""
        cross, variance, own_axes = self.cross[:, top], self.variance[top], self._own_of(top)
        posterior = self.unexplained + 1e-12 * self.total * np.eye(len(cross))
        loadings = np.linalg.solve(posterior, cross)
        own = np.maximum(variance - np.einsum("kp,kp->p", cross, loadings), self.shrinkage / 2)
        chosen: list[int] = []
        gains, ties = _gains(cross, variance, own_axes), self.ties[:, top]
        known = np.einsum("kp,kp->p", cross, loadings)  # of each variance, by the factors
        for _ in range(min(count, len(top))):
            place = place_of_largest(gains, ties)
            chosen.append(place)
            # A rank one step of the posterior P, and so of the covariances ``P loadings``.
            shift = cross[:, place].copy()
            weights = shift @ loadings
            scale = 1 / (own[place] + weights[place])
            cross -= shift[:, None] * (scale * weights)
            known -= scale * np.square(weights)
            gains = _gains(cross, own + known, own_axes)
            gains[chosen] = -1.0
        return np.array(chosen, dtype=np.intp)

    def choose(self, pool: IntArray, columns: FloatArray, count: int | None = None) -> FloatArray:
        """Choose the next variables from a pool, exactly.

        Parameters
        ----------
        pool : ndarray of shape (n_pool,)
            Candidates, none chosen before.
        columns : ndarray of shape (length, n_pool)
            Their standardised columns, as vectors of `part.columns`.
        count : int, optional
            How many to choose, copies of others not among them; by default all, whatever they are.

        Returns
        -------
        inside : ndarray of shape (length, n_chosen)
            `Columns.inside` of the residuals of the chosen ones: less what those chosen before predict. Its products
            with all columns are what `absorb` takes.
        """
        inside = self.part.columns.inside(columns)
        products = self.residuals.T @ inside
        links = self.weight * products  # residual covariance of those chosen before with the pool
        rest = columns - self.residuals @ (links / self.pivots[:, None])
        alike, alike_between = self.agreement.links(
            pool, self.mixing.T @ products / self.part.n_rows, inside.T @ columns / self.part.n_rows
        )
        between = inside.T @ rest
        squares = between.diagonal()
        same = between**2 >= (1 - EQUAL) * np.outer(squares, squares)  # residuals that differ in sign at most
        between *= self.weight  # which is zero in pure noise: copies are told before
        all_of_them = count is None or self.exhausted
        by_agreement = self._by_agreement and not all_of_them
        if count is None:
            count, same = len(pool), np.zeros_like(same)
        between[np.diag_indices_from(between)] += self.shrinkage
        cross, variance = self.cross[:, pool].copy(), self.variance[pool].copy()
        own, ties = self._own_of(pool), self.ties[:, pool]
        slopes, pivots = np.empty((len(cross), count)), np.empty(count)
        new_links = np.empty((count, len(pool)))
        free = np.ones(len(pool), dtype=bool)
        new: list[int] = []
        n_new = 0
        while n_new < count and free.any():
            i, n_new = n_new, n_new + 1
            if by_agreement:
                gains = self.agreement.after(pool, alike)
            else:
                gains = self.relevance[pool] if self.exhausted else _gains(cross, variance, own)
            gains = np.where(free, gains, -np.inf)
            k = place_of_largest(gains, ties)
            if i and not all_of_them and self._asks_anew(float(gains[k]), by_agreement):
                n_new = i
                break
            if by_agreement and gains[k] <= self.agreement.value:
                self.settled = len(self.order)  # it cannot be raised any more
            self._postpone(pool[free & same[k]])
            free &= ~same[k]
            free[k] = False
            new.append(k)
            pivots[i] = pivot = float(variance[k])
            slopes[:, i] = cross[:, k] / pivot
            self._accept(int(pool[k]), cross[:, k], pivot)
            self.agreement.add(int(pool[k]), float(alike[k]))
            alike = alike + alike_between[k]
            self._settle()
            # Residual covariances with k: less what those before it in this batch have taken.
            new_links[i] = (between[k] - (pivots[:i] * new_links[:i, k]) @ new_links[:i]) / pivot
            cross -= cross[:, k, None] * new_links[i]
            variance -= pivot * new_links[i] ** 2
            variance[k] = 1.0  # it is not asked again
        # r_k = rest_k - sum of r_j link_jk over the j before k: a triangular system.
        turn = np.triu(new_links[:n_new, new], 1) + np.eye(n_new)
        residuals = solve_triangular(turn, rest[:, new].T, trans="T", check_finite=False).T
        self._mix(links[:, new] / self.pivots[: len(links), None], turn)
        self.residuals = np.hstack([self.residuals, residuals])
        self.errors += self.part.columns.predict(residuals, slopes[:, :n_new])
        return self.part.columns.inside(residuals)

    def _mix(self, before: FloatArray, turn: FloatArray) -> None:
        """Keep what the new columns have of the residuals before them, and of each other's."""
        self.mixing = np.block([[self.mixing, before], [np.zeros(before.T.shape), turn]])

    def _postpone(self, copies: IntArray) -> None:
        """Keep copies of a chosen variable for later: a shrunken covariance takes them for new measurements."""
        self.allowed[copies], self.copies[copies] = False, True

    def _accept(self, variable: int, cross: FloatArray, pivot: float) -> None:
        self.order.append(variable)
        self.allowed[variable] = self.copies[variable] = False
        self.pivots = np.append(self.pivots, pivot)
        self.unexplained = self.unexplained - np.outer(cross, cross) / pivot
        before = self.explained[-1] if self.explained else 0.0
        self.explained.append(before + float(cross @ cross) / pivot)

    def absorb(self, products: FloatArray) -> None:
        """Update all variables for the last choices.

        Parameters
        ----------
        products : ndarray of shape (n_chosen, n_features)
            ``r'Z`` over the rows of this selection, of the residuals that `choose` found.
        """
        count = len(products)
        links = self.weight * products
        new, pivots = self.order[-count:], self.pivots[-count:]
        self._find_copies(new, links)
        # Residual covariances of the scores with the chosen, at the time of their choice.
        steps = np.empty((len(self.cross), count))
        for i, k in enumerate(new):
            steps[:, i] = self.cross[:, k] - steps[:, :i] @ (links[:i, k] / pivots[:i])
        self.cross -= (steps / pivots) @ links
        self.variance -= (1 / pivots) @ np.square(links)
        np.maximum(self.variance, self.shrinkage, out=self.variance)

    def _find_copies(self, new: list[int], links: FloatArray) -> None:
        """Postpone the copies of new choices: they have the same residual variance and covariances."""
        squares = np.einsum("kp,kp->p", self.cross, self.cross)
        for k, link in zip(new, np.abs(links), strict=True):
            places = np.flatnonzero(self.allowed & (np.abs(self.variance - self.variance[k]) <= EQUAL))
            for values in (link, squares):
                places = places[np.abs(values[places] - values[k]) <= EQUAL * values[k]]
            self._postpone(places)


def _gains(cross: FloatArray, variance: FloatArray, own: FloatArray) -> FloatArray:
    """What each variable tells of the scores, its own weights `own` in them left out."""
    others = cross - own * variance if own.any() else cross
    return np.einsum("kp,kp->p", others, others) / variance
