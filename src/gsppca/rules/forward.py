"""Forward selection of the variables that predict some scores, under a shrunken covariance: a pivoted Cholesky.

The covariance of the standardised variables is taken as ``C = (1 - l) S + l I``, with S their second moments over some
rows. The scores are ``t = W x``, linear in the variables, so that their covariance with the variables is ``W C``.
Given chosen variables, every variable k has a residual variance v_k and a residual covariance c_k with the scores;
choosing k reduces the variance of the scores that is not yet explained, summed over components, by

    gain_k = ||c_k||^2 / v_k .

The best is chosen, and all others are updated by their residual covariance a with it:

    c_j -= a_j c_k / v_k,      v_j -= a_j^2 / v_k .

Where most variables are noise, some of those taken for relevant may be noise too, and the order must not prefer them:
a noise variable is a component of its own, which nothing else predicts. Two things change (`sparse`):

    gain_k = ||c_k - v_k w_k||^2 / v_k      counts what k tells of the scores of all *others*: w_k is its own weight;

and as soon as the best gain is less than `CHANCE` times what a variable without any relation would have by chance,
trace(P) / n, with P the residual covariance of the scores, the others follow by their relevance: the structure is
known, and what they would add to it is chance.

Elsewhere the distances between rows are to be kept too (`agreement`): once `PROMISED` of the variance of the scores is
explained in the model, those variables are chosen on which, with the others, the rows lie most alike to where their
scores are, until they lie alike enough or no variable helps. Then the gain decides again.

This is what a selection remembers. Choices are made among the variables of a pool (`pool`), whose Gram matrices are
known; which variables these are, of many, is found by `listing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.rules.agreement import Agreement
from gsppca.rules.parts import Part
from gsppca.rules.shrinkage import LEAST_SHRINKAGE

if TYPE_CHECKING:
    from gsppca.rules.listing import Likely

CHANCE = 3.0
NEARLY = 0.01  # of the agreement: what is given up for a smaller core, when enough of it is out of reach
PROMISED = 0.94  # in the model, which promises a few points more than it keeps: about 0.9 on other rows
BLOCK = 2048  # variables treated at a time


class Forward:
    """One forward selection, on some of the rows.

    Parameters
    ----------
    part : Part
        Axes W, moments ``W S`` and variances, the diagonal of S, of some of the rows.
    allowed : ndarray of shape (n_features,), bool
        The variables that may be chosen.
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
    covariance, inverse, unexplained : ndarray of shape (n_components, n_components)
        Of the scores, in the model: with none chosen, the inverse of that, and given those chosen.
    allowed, copies : ndarray of shape (n_features,), bool
        Variables that may be chosen next; copies of chosen ones, which wait until nothing else is left.
    copies_count : bool
        Whether nothing else is left, so that copies are chosen like others.
    exhausted : bool
        Whether gains are chance, so that relevance decides.
    promised : bool
        Whether enough is explained in the model, so that distances between rows count.
    near : (ndarray of int, Likely) or None
        The variables that lists look at, and what is known of them (`listing`); None before the first.
    listed_by_agreement : bool
        Whether its last list is also by the distances between rows.
    settled : bool
        Whether the distances between rows are kept, or cannot be kept any better, so that the gain decides again.
    agreements : list of float
        The agreement (`Agreement`) after each choice.
    """

    def __init__(self, part: Part, allowed: BoolArray, sparse: bool = False, relevance: FloatArray | None = None):
        self.part, self.sparse = part, sparse
        self.shrinkage = max(LEAST_SHRINKAGE, part.shrinkage)
        self.allowed, self.copies = allowed.copy(), np.zeros(len(allowed), dtype=bool)
        self.agreement = Agreement(part)
        weights = part.axes @ part.axes.T
        self.covariance = (1 - self.shrinkage) * np.diag(part.score_variances) + self.shrinkage * weights
        self.inverse = np.linalg.pinv(self.covariance, hermitian=True)
        self.unexplained, self.total = self.covariance.copy(), float(self.covariance.trace())
        self.relevance = self._gains_alone() if relevance is None else relevance
        self.order: list[int] = []
        self.explained: list[float] = []
        self.exhausted = self.promised = self.copies_count = False
        self.near: tuple[IntArray, Likely] | None = None
        self.settled = self.listed_by_agreement = False
        self.agreements: list[float] = []

    def cross(self, some: slice | IntArray) -> FloatArray:
        """Covariances of some variables with the scores, nothing chosen, shape (n_components, n_some)."""
        return (1 - self.shrinkage) * self.part.moments(some) + self.shrinkage * self.part.weights(some)

    def variance(self, some: slice | IntArray) -> FloatArray:
        """Variances of some variables, nothing chosen."""
        return (1 - self.shrinkage) * self.part.variances[some] + self.shrinkage

    def own(self, some: slice | IntArray) -> FloatArray | None:
        """Weights of some variables in the scores that do not count; None where all do."""
        return self.part.weights(some) if self.sparse else None

    def see(self, part: Part) -> None:
        """Go on with the same part, of other variables."""
        self.part = self.agreement.part = part

    def _gains_alone(self) -> FloatArray:
        every = blocks(len(self.allowed))
        return np.concatenate([gains_of(self.cross(some), self.variance(some), self.own(some)) for some in every])

    @property
    def by_agreement(self) -> bool:
        """Whether the next choice is made by the distances between rows."""
        return self.promised and not self.settled

    def is_chance(self, best: float) -> bool:
        """Whether the best gain could be that of a variable without any relation to the scores."""
        left = self.total - self.explained[-1] if self.explained else self.total
        return self.sparse and best < CHANCE * left / self.part.n_rows

    def accept(self, variable: int, slopes: FloatArray, shared: float, own: float, link: float) -> None:
        """Choose a variable, given what it explains of the scores, and what it adds to the sums of `Agreement`.

        `slopes` are those of the scores on its residual of variance one.
        """
        self.order.append(variable)
        self.allowed[variable] = self.copies[variable] = False
        self.explained.append((self.explained[-1] if self.explained else 0.0) + float(slopes @ slopes))
        self.unexplained -= slopes[:, None] * slopes
        self.agreement.add(shared, own, link)
        self.agreements.append(self.agreement.value)
        if not self.sparse and self.explained[-1] >= PROMISED * self.total:
            self.promised = True
            self.settled = self.settled or self.agreement.value >= self.agreement.wanted

    def size_for_distances(self, least: int) -> int:
        """Return the smallest number of choices, from `least` on, that keeps the distances between rows.

        If none does, the smallest that keeps them nearly as well as any.
        """
        if not self.promised:
            return least
        agreements = np.array(self.agreements[least - 1 :])
        enough = min(self.agreement.wanted, (1 - NEARLY) * float(agreements.max()))
        return least + int(np.argmax(agreements >= enough))

    def postpone(self, copies: IntArray) -> None:
        """Keep copies of a chosen variable for later: a shrunken covariance takes them for new measurements."""
        if not self.copies_count:
            copies = copies[self.allowed[copies]]
            self.allowed[copies], self.copies[copies] = False, True

    def allow_copies(self) -> None:
        """Nothing else is left."""
        self.allowed, self.copies, self.copies_count = self.copies, np.zeros_like(self.copies), True


def gains_of(cross: FloatArray, variance: FloatArray, own: FloatArray | None) -> FloatArray:
    """What each variable tells of the scores, its own weights in them left out.

    Parameters
    ----------
    cross : ndarray of shape (..., n_components, n_features)
        Residual covariances with the scores.
    variance : ndarray of shape (..., n_features)
        Residual variances.
    own : ndarray of the shape of `cross`, or None
        Weights that do not count.
    """
    others = cross if own is None else cross - own * variance[..., None, :]
    return np.einsum("...kp,...kp->...p", others, others) / variance


def blocks(n_features: int, size: int = BLOCK) -> list[slice]:
    """Slices of all variables, some at a time."""
    return [slice(start, min(start + size, n_features)) for start in range(0, n_features, size)]
