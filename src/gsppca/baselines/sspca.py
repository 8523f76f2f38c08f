"""Structured sparse PCA (Jenatton, Obozinski & Bach 2009) with one pattern for all axes.

    min over U, V:  ||X - U V'||^2 / 2 + t sum_j ||V_j.||_2,   ||u_k|| <= 1                     (J1)

    V given U, with G = U'U and L its largest eigenvalue, proximal steps:
        B = V - (V G - X'U) / L,     V_j. = B_j. (1 - (t / L) / ||B_j.||)_+                     (J2)
    U given V, one sweep over its columns:
        u_k <- u_k + (X v_k - U V'v_k) / ||v_k||^2,  divided by max(1, ||u_k||)                 (J3)

Stationary points satisfy, with R = X'U - V G,

    R_j. = t V_j. / ||V_j.||  where V_j. is not zero,     ||R_j.|| <= t  where it is           (J4)
    X v_k - U V'v_k = m_k u_k,  m_k >= 0,  ||u_k|| = 1 or m_k = 0                               (J5)

Where this leaves the authors:

1. They let several patterns share the axes. Here one pattern serves all, as in the paper, which "constrained
   the algorithm in order to obtain globally sparse solutions".
2. Held-out rows are projected on the span of V by least squares: the bound on U in (J1) ties the scores to the
   number of rows, and says nothing about a new row.

Row-wise cross-validation hardly punishes dense solutions: a held-out row helps to reconstruct itself, so that
loadings on pure noise cost next to nothing. Expect too many variables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from gsppca.baselines.base import (
    Axes,
    Baseline,
    FeatureCount,
    Selection,
    own_or_principal,
    selection_on_path,
)
from gsppca.baselines.linalg import FloatArray, compact_rows, leading_svd, row_norms
from gsppca.baselines.path import Centred, PathPoint, cut, reach_size, rising_penalties, walk
from gsppca.checks import check_count, check_number

_PROXIMAL_STEPS = 3
_COLLAPSED = 1e-6  # singular value of V, relative to the first, of an axis that has merged with another
_EQUAL = 1e-9  # difference of cross-validated errors that is rounding, relative to the largest


@dataclass(frozen=True)
class StructuredFactors:
    """A solution of (J1).

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_components)
        U.
    loadings : ndarray of shape (n_features, n_components)
        V.
    n_iter : int
        Alternations.
    converged : bool
        Whether both factors moved by less than the tolerance.
    """

    scores: FloatArray
    loadings: FloatArray
    n_iter: int = 1
    converged: bool = True

    @property
    def strength(self) -> FloatArray:
        """Row norms of V."""
        return row_norms(self.loadings)


def pca_factors(X: FloatArray, n_components: int) -> StructuredFactors:
    """Solve (J1) at t = 0: U the left singular vectors, V = X'U."""
    left, values, right = leading_svd(X, n_components)
    return StructuredFactors(scores=left, loadings=right.T * values)


def shrink_rows(rows: FloatArray, threshold: float) -> FloatArray:
    """Group soft-thresholding, the prox of threshold * sum_j ||row_j||."""
    norms = row_norms(rows)
    factors = np.divide(norms - threshold, norms, out=np.zeros_like(norms), where=norms > threshold)
    return rows * factors[:, np.newaxis]


def proximal_steps(X: FloatArray, U: FloatArray, V: FloatArray, penalty: float) -> tuple[FloatArray, float]:
    """Take a few steps (J2) on V; return V and the length of the first, which vanishes when (J4) holds."""
    gram, product = U.T @ U, X.T @ U
    curvature = float(np.linalg.eigvalsh(gram)[-1])
    if curvature == 0:
        return np.zeros_like(V), 0.0
    first = 0.0
    for step in range(_PROXIMAL_STEPS):
        moved = shrink_rows(V - (V @ gram - product) / curvature, penalty / curvature)
        first = float(np.linalg.norm(moved - V)) if step == 0 else first
        V = moved
    return V, first


def sweep_scores(X: FloatArray, U: FloatArray, V: FloatArray) -> FloatArray:
    """Update the columns of U one after the other (J3); a column whose v_k is zero stays."""
    products, gram = (X @ V).T, V.T @ V
    diagonal = np.diag(gram)
    scores = U.T.copy()  # a column of U in one piece of memory
    for k in np.flatnonzero(diagonal > np.finfo(np.float64).eps * diagonal.sum()):
        column = scores[k] + (products[k] - gram[k] @ scores) / diagonal[k]
        scores[k] = column / max(1.0, math.sqrt(column @ column))
    return scores.T


def structured_factors(
    X: FloatArray, start: StructuredFactors, penalty: float, max_iter: int = 300, tol: float = 1e-3
) -> StructuredFactors:
    """Solve (J1) from `start` until a round moves U and V by less than `tol` of their norms.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Centred data, or any matrix with the same X'X.
    start : StructuredFactors
        Where to start: PCA, or the solution at the penalty before.
    penalty : float
        t of (J1).
    max_iter : int, default=300
        Most rounds.
    tol : float, default=1e-3
        Relative change at which to stop.

    Returns
    -------
    factors : StructuredFactors
        U and V.
    """
    U, V = start.scores, start.loadings
    for n_iter in range(1, max_iter + 1):
        V, moved_loadings = proximal_steps(X, U, V, penalty)
        if not V.any():
            return StructuredFactors(U, V, n_iter)
        new_scores = sweep_scores(X, U, V)
        moved_scores = np.linalg.norm(new_scores - U)
        U = new_scores
        if moved_loadings <= tol * np.linalg.norm(V) and moved_scores <= tol * np.linalg.norm(U):
            return StructuredFactors(U, V, n_iter)
    return StructuredFactors(U, V, max_iter, converged=False)


def held_out_errors(
    X: FloatArray, penalties: Sequence[float], n_components: int, folds: KFold, max_iter: int, tol: float
) -> FloatArray:
    """Mean squared reconstruction error of held-out rows at each penalty.

    A fold with fewer rows has smaller column norms: its penalties are scaled by sqrt(n_train / n).
    """
    errors = np.zeros(len(penalties))
    for train, test in folds.split(X):
        mean = X[train].mean(axis=0)
        rows = compact_rows(X[train] - mean)
        factors = pca_factors(rows, min(n_components, *rows.shape))
        held_out = X[test] - mean
        for i, penalty in enumerate(penalties):
            scaled = penalty * np.sqrt(train.size / X.shape[0])
            factors = structured_factors(rows, factors, scaled, max_iter, tol) if scaled > 0 else factors
            left, values, _ = np.linalg.svd(factors.loadings, full_matrices=False)
            span = left[:, values > _COLLAPSED * values[0]]
            errors[i] += np.sum(held_out**2) - np.sum((held_out @ span) ** 2)
    return errors / X.size


class SSPCA(Baseline):
    """Structured sparse PCA of Jenatton, Obozinski & Bach with a single pattern: globally sparse.

    Parameters
    ----------
    n_components : int, default=2
        Number of axes.
    n_features_to_select : "auto", None, int or float, default="auto"
        "auto" (or None): the penalty with the smallest cross-validated reconstruction error, and the sparser
        of two equals; it tends to keep too many variables. An integer keeps exactly that many; a fraction,
        that share of them.
    n_penalties : int, default=30
        Penalties on the path between the weakest and the strongest variable.
    cv : int, default=5
        Folds of the cross-validation, over rows drawn at random.
    axes : {"own", "pca"}, default="own"
        "own": the loadings, scaled to unit length, heaviest axis first; "pca": PCA of the selected variables.
    max_iter : int, default=300
        Most rounds for one penalty.
    tol : float, default=1e-3
        Relative change of the factors at which to stop.
    random_state : int, RandomState or None, default=None
        Draws the folds, and settles the order of equal columns.

    Attributes
    ----------
    penalty_ : float
        Penalty of the solution that was kept.

    References
    ----------
    Jenatton, R., Obozinski, G. and Bach, F. (2010). Structured sparse principal component analysis.
    Proceedings of the 13th International Conference on Artificial Intelligence and Statistics. First a report
    of 2009, arXiv:0909.1440.

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca.baselines import SSPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 12))
    >>> X[:, [1, 4, 8]] += rng.normal(size=(40, 2)) @ (4 * rng.normal(size=(2, 3)))
    >>> SSPCA(n_components=2, n_features_to_select=3).fit(X).get_support(indices=True)
    array([1, 4, 8])
    """

    def __init__(
        self,
        n_components: int = 2,
        n_features_to_select: FeatureCount = "auto",
        n_penalties: int = 30,
        cv: int = 5,
        axes: Axes = "own",
        max_iter: int = 300,
        tol: float = 1e-3,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_features_to_select = n_features_to_select
        self.n_penalties = n_penalties
        self.cv = cv
        self.axes = axes
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _select(self, data: Centred, size: int | None) -> Selection:
        check_count("n_penalties", self.n_penalties, 2)
        check_count("cv", self.cv, 2)
        check_count("max_iter", self.max_iter, 1)
        check_number("tol", self.tol, 0, finite=False)
        X = compact_rows(data.matrix)
        start = pca_factors(X, self.n_components)

        def fit(penalty: float, warm: StructuredFactors) -> StructuredFactors:
            return structured_factors(X, warm, penalty, self.max_iter, self.tol)

        points = walk(fit, start, rising_penalties(start.strength, self.n_penalties), min_size=size or 1)
        if size is None:
            errors = self._cross_validate(data.matrix, points)
            # The last of equals is the sparsest; two that span the same subspace differ by rounding.
            chosen = points[int(np.flatnonzero(errors <= errors.min() + _EQUAL * errors.max())[-1])]
            support = chosen.support
        else:
            points, chosen, survivors = reach_size(fit, points, size)
            errors = np.full(len(points), np.nan)
            support = cut(data, chosen.support, survivors, chosen.strength, size)
        loadings = chosen.model.loadings
        heaviest = np.argsort(-row_norms(loadings.T), kind="stable")
        return selection_on_path(
            data,
            points,
            chosen,
            support,
            errors,
            "mean squared error of held-out rows",
            own_or_principal(self.axes, loadings[:, heaviest], data, support),
        )

    def _cross_validate(self, X: FloatArray, points: Sequence[PathPoint[StructuredFactors]]) -> FloatArray:
        folds = KFold(min(self.cv, X.shape[0]), shuffle=True, random_state=check_random_state(self.random_state))
        penalties = [point.penalty for point in points]
        return held_out_errors(X, penalties, self.n_components, folds, self.max_iter, self.tol)
