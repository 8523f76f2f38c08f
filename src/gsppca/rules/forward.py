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

1. The batches are as large as the number chosen before: 1, 1, 2, 4, 8, ..., up to a limit (`task`).
2. Candidates for a batch are those that a factor model would choose, whose factors are the scores (`candidates`).
3. Among the candidates the choice is exact: all products of their columns are known (`choices`).

With at most `EXACT` variables all are candidates, and the result is that of the exact forward selection.
"""

from __future__ import annotations

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.rules.agreement import Agreement
from gsppca.rules.parts import Part
from gsppca.rules.ties import EQUAL, largest_first

EXACT = 64
CHANCE = 3.0
PROMISED = 0.94  # in the model, which promises a few points more than it keeps: about 0.9 on other rows
LOOKED_AT = 512  # variables, of the largest gain, among which the factor model chooses


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
    chosen : ndarray of shape (length, n_chosen) or None
        Residuals of the last choices, if all variables are not updated for them yet: less what those chosen before
        predict.
    """

    def __init__(
        self,
        part: Part,
        shrinkage: float,
        allowed: BoolArray,
        ties: FloatArray,
        sparse: bool = False,
        relevance: FloatArray | None = None,
    ):
        # Not the part itself: its axes and moments are as large as `cross`, and there are six selections.
        self.n_rows, self.columns, self.shrinkage = part.n_rows, part.columns, shrinkage
        self.allowed, self.ties = allowed.copy(), ties
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
        self.chosen: FloatArray | None = None
        self.slopes: FloatArray = np.empty((len(self.cross), 0))  # of the scores, on the residuals of the last choices
        self.residuals = np.empty((part.columns.length, 0))  # of the chosen columns
        self.mixing = np.empty((0, 0))  # the chosen columns are combinations of their residuals: residuals @ mixing
        self.pivots = np.empty(0)  # their residual variances

    @property
    def gains(self) -> FloatArray:
        """What each variable that may be chosen would add; -1 for the others."""
        return np.where(self.allowed, gains_of(self.cross, self.variance, self.own), -1.0)

    def own_of(self, variables: IntArray) -> FloatArray:
        """Weights of some variables in the scores that do not count; zeros where all do."""
        return self.own[:, variables] if self.sparse else np.zeros((len(self.cross), len(variables)))

    def is_chance(self, best: float) -> bool:
        """Whether the best gain could be that of a variable without any relation to the scores."""
        left = self.total - self.explained[-1] if self.explained else self.total
        return self.sparse and best < CHANCE * left / self.n_rows

    @property
    def by_agreement(self) -> bool:
        """Whether the next choice is made by the distances between rows."""
        return self.promised and self.settled is None

    def _settle(self) -> None:
        """See whether the distances between rows are kept."""
        if self.settled is None and not self.sparse and self.explained[-1] >= PROMISED * self.total:
            if self.agreement.value >= self.agreement.wanted:
                self.settled = len(self.order) if self.promised else 0
            self.promised = True

    def pool(self, count: int) -> tuple[IntArray, FloatArray | None]:
        """Return the candidates of the next `count` choices, ascending; or more, and their gains, to choose them from.

        `candidates` does so.
        """
        if not self.allowed.any():
            self.allowed, self.copies = self.copies, np.zeros_like(self.copies)
            return np.flatnonzero(self.allowed)[:EXACT], None
        n_allowed, gains = int(np.count_nonzero(self.allowed)), self.gains
        self.exhausted = self.exhausted or self.is_chance(gains.max())
        if n_allowed <= EXACT:
            return np.flatnonzero(self.allowed), None
        if self.exhausted:
            relevance = np.where(self.allowed, self.relevance, -np.inf)
            return np.sort(largest_first(np.vstack([relevance, self.ties]))[: min(count, n_allowed)]), None
        if self.by_agreement:
            likely = np.where(self.allowed, self.agreement.likely(), -1.0)
            return np.sort(largest_first(np.vstack([likely, self.ties]))[: max(EXACT, 2 * count)]), None
        if count == 1:
            # The best, and its equals.
            equal = np.flatnonzero(gains >= (1 - EQUAL) * gains.max())
            return np.sort(equal[largest_first(self.ties[:, equal])[:EXACT]]), None
        top = np.argpartition(-gains, min(LOOKED_AT, n_allowed) - 1)[: min(LOOKED_AT, n_allowed)]
        top.sort()
        return top, gains[top]

    def postpone(self, copies: IntArray) -> None:
        """Keep copies of a chosen variable for later: a shrunken covariance takes them for new measurements."""
        self.allowed[copies], self.copies[copies] = False, True

    def accept(self, variable: int, gain: float, link: float) -> None:
        """Choose a variable, given its gain, and its link (`Agreement`) with those chosen before."""
        self.order.append(variable)
        self.allowed[variable] = self.copies[variable] = False
        self.explained.append((self.explained[-1] if self.explained else 0.0) + gain)
        self.agreement.add(variable, link)
        self._settle()

    def extend(
        self, residuals: FloatArray, slopes: FloatArray, pivots: FloatArray, before: FloatArray, turn: FloatArray
    ) -> None:
        """Keep what the choices of a batch leave behind; all variables then wait for `absorb`.

        Parameters
        ----------
        residuals : ndarray of shape (length, n_new)
            Of the new columns, less what those chosen before predict.
        slopes : ndarray of shape (n_components, n_new)
            Of the scores, on them.
        pivots : ndarray of shape (n_new,)
            Their variances.
        before, turn : ndarray of shape (n_before, n_new) and (n_new, n_new)
            Slopes of the new columns on the residuals chosen before, and on each other's.
        """
        self.pivots = np.append(self.pivots, pivots)
        self.unexplained = self.unexplained - (slopes * pivots) @ slopes.T
        mixing = np.zeros((len(self.pivots), len(self.pivots)))
        mixing[: len(before), : len(before)], mixing[: len(before), len(before) :] = self.mixing, before
        mixing[len(before) :, len(before) :] = turn
        self.mixing = mixing
        self.residuals = np.hstack([self.residuals, residuals])
        self.errors += self.columns.predict(residuals, slopes)
        self.chosen, self.slopes = residuals, slopes

    def absorb(self, products: FloatArray) -> None:
        """Update all variables for the last choices.

        Parameters
        ----------
        products : ndarray of shape (n_chosen, n_features)
            ``r'Z`` over the rows of this selection, of the residuals `chosen`; overwritten.
        """
        links, slopes = np.multiply(products, self.weight, out=products), self.slopes
        self.chosen = None
        self._find_copies(self.order[-len(links) :], links)
        self.cross -= slopes @ links
        self.variance -= (1 / self.pivots[-len(links) :]) @ np.square(links)
        np.maximum(self.variance, self.shrinkage, out=self.variance)

    def _find_copies(self, new: list[int], links: FloatArray) -> None:
        """Postpone the copies of new choices: they have the same residual variance and covariances."""
        close = self.allowed & (np.abs(self.variance - self.variance[new][:, None]) <= EQUAL)
        if close.any():
            squares = np.einsum("kp,kp->p", self.cross, self.cross)
            for k, link, own in zip(new, np.abs(links), close, strict=True):
                places = np.flatnonzero(own)
                for values in (link, squares):
                    places = places[np.abs(values[places] - values[k]) <= EQUAL * values[k]]
                self.postpone(places)


def gains_of(cross: FloatArray, variance: FloatArray, own: FloatArray) -> FloatArray:
    """What each variable tells of the scores, its own weights `own` in them left out.

    Parameters
    ----------
    cross : ndarray of shape (..., n_components, n_features)
        Residual covariances with the scores.
    variance : ndarray of shape (..., n_features)
        Residual variances.
    own : ndarray
        Of the shape of `cross`, or a single zero.
    """
    others = cross - own * variance[..., None, :] if own.any() else cross
    return np.einsum("...kp,...kp->...p", others, others) / variance
