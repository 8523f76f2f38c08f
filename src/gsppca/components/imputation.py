"""Missing entries: probabilistic PCA of the observed ones, and what it expects of the others.

The relaxed model, with a slab variance a_j for each variable instead of its relevance, fitted by variational EM to the
observed entries alone, which is right when entries are missing at random: ``x_ij = m_j + w_j' y_i + noise`` for (i, j)
observed, ``w_j ~ N(0, a_j I)``, ``y_i ~ N(0, I_d)``. With sums over what is observed,

    C_i^-1 = I + (1/t) sum_j (w_j w_j' + S_j),      z_i = C_i sum_j w_j (x_ij - m_j) / t         scores
    S_j^-1 = I/a_j + (1/t) sum_i (z_i z_i' + C_i),  w_j = S_j sum_i z_i (x_ij - m_j) / t         loadings
    m_j    = mean_i (x_ij - w_j' z_i),   t = mean of E (x_ij - m_j - w_j' y_i)^2,   a_j = E |w_j|^2 / d

and the bound on the evidence of the observed entries rises with each line.

1. The loadings are integrated, and those of noise shrink to zero. Maximum likelihood, with d = 10 loadings a column and
   a few dozen rows, fills noise into the gaps, and the selection suffers far more than from filling in the means.
2. ``sum over observed = sum over all - sum over missing``: with few gaps nothing of the size of the data is formed but
   one copy of it, and an iteration costs O(n p d) for two products plus O((n + p) d^3 + n_missing d^2).
3. Expectations vary less than what they stand for. A column with more gaps would seem to vary less than another, and
   fall in a ranking: `inflated` gives every column the sum of squares that the model expects of it.
4. Columns whose observed entries are all equal stay out: their gaps are known, and they say nothing of the noise of
   the others.
5. One noise variance for all columns is right in the units in which the model says so: those of the data, or of
   standardised columns. The caller says which.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gsppca._typing import BoolArray, FloatArray, IntArray

MAX_ITER = 500
LEAST_SLAB = 1e-12  # in units of the mean square of the data
CONSTANT = 8 * np.finfo(np.float64).eps  # deviation, in units of the mean, that is but the rounding of the mean
TOL = 1e-6  # gain of the bound per observed entry, as in the variational EM


@dataclass(frozen=True)
class Imputation:
    """Data with its gaps filled by their expectations, and the model that filled them.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The observed entries as they were, and the expectation of each missing one.
    missing_variance : ndarray of shape (n_features,)
        Sum over the gaps of each column of the variance of what is missing.
    mean, scale : ndarray of shape (n_features,)
        What the columns are centred by, and then divided by.
    loadings : ndarray of shape (n_features, n_components)
        Expectations w of the loadings, of the columns so treated.
    loading_covs : ndarray of shape (n_features, n_components, n_components)
        Their covariances S.
    noise_variance : float
        t, in the same units.
    bounds : ndarray of shape (n_iter,)
        Lower bound of the log evidence of the observed entries; never falls. Empty if nothing is missing.
    converged : bool
        Whether the bound settled.
    """

    X: FloatArray
    missing_variance: FloatArray
    mean: FloatArray
    scale: FloatArray
    loadings: FloatArray
    loading_covs: FloatArray
    noise_variance: float
    bounds: FloatArray
    converged: bool

    def inflated(self) -> FloatArray:
        """The filled data with each column stretched about its mean to the sum of squares expected of it."""
        if not self.missing_variance.any():
            return self.X
        mean = self.X.mean(axis=0)
        filled = self.X - mean
        squares = np.einsum("ij,ij->j", filled, filled)
        with np.errstate(divide="ignore", invalid="ignore"):
            stretch = np.sqrt(1 + self.missing_variance / squares)
        filled *= np.where(squares > 0, stretch, 1.0)
        filled += mean
        return filled.astype(self.X.dtype, copy=False)

    def fill(self, X: FloatArray) -> FloatArray:
        """Fill the gaps of other rows, of which nothing but what is observed is known; a row of gaps gets the means."""
        missing = np.isnan(X)
        if not missing.any():
            return X
        gaps = sparse.csr_array(missing.astype(np.float64))
        centred = np.where(missing, 0.0, (X - self.mean) / self.scale)
        covs = _score_covs(gaps, self.loadings, self.loading_covs, self.noise_variance)
        scores = np.einsum("iab,ib->ia", covs, centred @ self.loadings) / self.noise_variance
        return _filled(X, missing, self.mean, self.scale, scores, self.loadings)


def impute(
    X: FloatArray, n_components: int, *, standardise: bool = False, max_iter: int = MAX_ITER, tol: float = TOL
) -> Imputation:
    """Fill the gaps of some data, marked by nan, by their expectation given what is observed.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Finite numbers and nan; not changed. Every row and column must have an observed entry.
    n_components : int
        Dimension of the latent space.
    standardise : bool, default=False
        Whether the noise has one variance in units of each column's standard deviation, as when the columns are
        standardised for the fit, instead of the units of the data.
    max_iter, tol : int, float
        The EM stops when an iteration raises its bound by less than `tol` per observed entry.
    """
    missing = np.isnan(X)
    _check_observed(missing)
    n, p, d = *X.shape, n_components
    observed = n - missing.sum(axis=0)
    mean = np.nansum(X, axis=0, dtype=np.float64) / observed
    centred = np.where(missing, 0.0, X - mean)
    squares = np.einsum("ij,ij->j", centred, centred)
    varying = np.sqrt(squares / observed) > CONSTANT * np.abs(mean)
    mean[~varying] = X[missing.argmin(axis=0), np.arange(p)][~varying]  # the value itself, without rounding
    scale = _scales(np.where(varying, squares, 0.0), np.where(varying, observed, 0), standardise)
    nothing = Imputation(X, np.zeros(p), mean, scale, np.zeros((p, d)), np.zeros((p, d, d)), 1.0, np.empty(0), True)
    if not missing.any():
        return nothing
    if not varying.any():
        return replace(nothing, X=np.where(missing, mean, X).astype(X.dtype))
    gaps = sparse.csr_array(missing[:, varying].astype(np.float64))
    fit = _fit(centred[:, varying] / scale[varying], gaps, observed[varying], d, max_iter, tol)
    loadings, covs, variance = nothing.loadings, nothing.loading_covs, nothing.missing_variance
    loadings[varying], covs[varying] = fit.loadings, fit.loading_covs
    variance[varying] = scale[varying] ** 2 * _missing_variance(gaps, fit)
    mean[varying] += scale[varying] * fit.offset
    return replace(
        nothing,
        X=_filled(X, missing, mean, scale, fit.scores, loadings),
        noise_variance=fit.noise,
        bounds=np.array(fit.bounds),
        converged=fit.converged,
    )


def _scales(squares: FloatArray, observed: IntArray, standardise: bool) -> FloatArray:
    """What to divide the columns by: their deviations, or a common one; never zero. Those without entries have none."""
    common = float(np.sqrt(squares.sum() / max(1, observed.sum()))) or 1.0
    if not standardise:
        return np.full(len(squares), common)
    deviations = np.sqrt(squares / np.maximum(observed, 1))
    return np.where(deviations > 0, deviations, common)


@dataclass
class _Fit:
    """Parameters and moments of the EM, in the letters of the head of this file."""

    offset: FloatArray  # of m from the mean of the observed entries
    scores: FloatArray  # z
    score_covs: FloatArray  # C
    loadings: FloatArray  # w
    loading_covs: FloatArray  # S
    noise: float  # t
    slabs: FloatArray  # a_j
    bounds: list[float]
    converged: bool


def _fit(centred: FloatArray, gaps: Any, observed: IntArray, d: int, max_iter: int, tol: float) -> _Fit:
    """Run the EM on centred data with zeros in its gaps."""
    n, p = centred.shape
    n_observed = int(observed.sum())
    total = float(np.einsum("ij,ij->", centred, centred))
    fit = _start(centred, d, total / n_observed)
    column_sums, filled = centred.sum(axis=0), gaps.T.tocsr()
    for _ in range(max_iter):
        # x - m on the observed entries, times the loadings.
        pulls = centred @ fit.loadings - fit.offset @ fit.loadings + gaps @ (fit.offset[:, None] * fit.loadings)
        fit.score_covs = _score_covs(gaps, fit.loadings, fit.loading_covs, fit.noise)
        fit.scores = np.einsum("iab,ib->ia", fit.score_covs, pulls) / fit.noise
        second = _outer(fit.scores) + fit.score_covs
        second = second.sum(axis=0) - (filled @ second.reshape(n, d * d)).reshape(p, d, d)
        sums = fit.scores.sum(axis=0) - filled @ fit.scores  # of the scores, over the observed rows of each column
        raw = (fit.scores.T @ centred).T
        precisions = np.eye(d) / fit.slabs[:, None, None] + second / fit.noise
        fit.loading_covs = np.linalg.inv(precisions)
        with_scores = raw - fit.offset[:, None] * sums
        fit.loadings = np.einsum("jab,jb->ja", fit.loading_covs, with_scores) / fit.noise
        squares = np.sum(fit.loadings**2, axis=1) + np.trace(fit.loading_covs, axis1=1, axis2=2)
        fit.slabs = np.maximum(squares / d, LEAST_SLAB)
        fit.offset = (column_sums - np.einsum("ja,ja->j", fit.loadings, sums)) / observed
        fits = np.einsum("ja,ja->", fit.loadings, raw - fit.offset[:, None] * sums)
        residual = (
            total
            - 2 * fit.offset @ column_sums
            + observed @ fit.offset**2
            - 2 * fits
            + np.einsum("jab,jab->", _outer(fit.loadings) + fit.loading_covs, second)
        )
        fit.noise = float(residual) / n_observed
        fit.bounds.append(_bound(fit, n_observed, squares))
        if len(fit.bounds) > 1 and fit.bounds[-1] - fit.bounds[-2] <= tol * n_observed:
            fit.converged = True
            break
    return fit


def _start(centred: FloatArray, d: int, mean_square: float) -> _Fit:
    """Principal axes of the data with its gaps at the means."""
    n, p = centred.shape
    # The side that is smaller; of more than this many axes than there are, the others start at nothing.
    if n <= p:
        values, vectors = np.linalg.eigh(centred @ centred.T)
        axes = centred.T @ vectors[:, ::-1][:, :d]
        axes /= np.sqrt(np.maximum(values[::-1][:d], 1e-300))
    else:
        values, vectors = np.linalg.eigh(centred.T @ centred)
        axes = vectors[:, ::-1][:, :d]
    head = np.maximum(values[::-1][:d], 0.0) / n
    noise = max(mean_square - float(head.sum()) / p, 1e-3 * mean_square)
    loadings = np.zeros((p, d))
    loadings[:, : len(head)] = axes * np.sqrt(np.maximum(head - noise, 1e-2 * noise))
    slab = float(np.mean(loadings**2))
    covs = np.broadcast_to(slab / n * np.eye(d), (p, d, d)).copy()
    return _Fit(np.zeros(p), np.empty(0), np.empty(0), loadings, covs, noise, np.full(p, slab), [], False)


def _outer(vectors: FloatArray) -> FloatArray:
    return vectors[:, :, None] * vectors[:, None, :]


def _score_covs(gaps: Any, loadings: FloatArray, loading_covs: FloatArray, noise: float) -> FloatArray:
    """C, from the sum over all columns less that over the gaps of each row."""
    p, d = loadings.shape
    squares = (_outer(loadings) + loading_covs).reshape(p, d * d)
    observed = (squares.sum(axis=0) - gaps @ squares).reshape(-1, d, d)
    return np.linalg.inv(np.eye(d) + observed / noise)


def _bound(fit: _Fit, n_observed: int, loading_squares: FloatArray) -> float:
    """Lower bound at the best noise variance, at which the quadratic term of the data is a constant."""
    (n, d), p = fit.scores.shape, len(fit.loadings)
    data = -0.5 * n_observed * (np.log(2 * np.pi * fit.noise) + 1)
    score_squares = np.sum(fit.scores**2) + np.trace(fit.score_covs, axis1=1, axis2=2).sum()
    scores = -0.5 * score_squares + 0.5 * np.linalg.slogdet(fit.score_covs)[1].sum() + 0.5 * n * d
    loadings = -0.5 * np.sum(loading_squares / fit.slabs) - 0.5 * d * np.log(fit.slabs).sum()
    loadings += 0.5 * np.linalg.slogdet(fit.loading_covs)[1].sum() + 0.5 * p * d
    return float(data + scores + loadings)


def _filled(
    X: FloatArray, missing: BoolArray, mean: FloatArray, scale: FloatArray, scores: FloatArray, loadings: FloatArray
) -> FloatArray:
    """Copy X, with the expectations in its gaps."""
    rows, columns = np.nonzero(missing)
    filled = X.copy()
    expected = np.einsum("ia,ia->i", scores[rows], loadings[columns])
    filled[rows, columns] = mean[columns] + scale[columns] * expected
    return filled


def _missing_variance(gaps: Any, fit: _Fit) -> FloatArray:
    """Sums over the gaps of each column of ``Var(w'y) + t``."""
    (n, d), p = fit.scores.shape, len(fit.loadings)
    by_column = gaps.T.tocsr()
    covs = (by_column @ fit.score_covs.reshape(n, d * d)).reshape(p, d, d)
    outers = (by_column @ _outer(fit.scores).reshape(n, d * d)).reshape(p, d, d)
    around = np.einsum("jab,jab->j", _outer(fit.loadings), covs) + np.einsum(
        "jab,jab->j", fit.loading_covs, outers + covs
    )
    return around + fit.noise * np.diff(by_column.indptr)


def _check_observed(missing: BoolArray) -> None:
    for axis, what in ((0, "column"), (1, "row")):
        empty = np.flatnonzero(missing.all(axis=axis))
        if len(empty):
            raise ValueError(
                f"Every {what} of X must have an observed entry, got {len(empty)} {what}(s) that are all missing, the "
                f"first one at index {empty[0]}. Drop them: nothing is known of what they would hold."
            )
