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
2. EM creeps, and the lines above are one iteration of it. `components.observed_em` computes them block by block, and
   goes further by moves that raise the same bound: its end is the same fixed point, in a fraction of the iterations.
3. Expectations vary less than what they stand for. A column with more gaps would seem to vary less than another, and
   fall in a ranking: `inflated` gives every column the sum of squares that the model expects of it.
4. Columns whose observed entries are all equal stay out: their gaps are known, and they say nothing of the noise of
   the others.
5. One noise variance for all columns is right in the units in which the model says so: those of the data, or of
   standardised columns. The caller says which.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.components.observed_em import Observed, loading_covs, missing_variance, run
from gsppca.linalg.triangles import Triangles

MAX_ITER = 500
CONSTANT = 8 * np.finfo(np.float64).eps  # deviation, in units of the mean, that is but the rounding of the mean
TOL = 1e-7  # gain of the bound per observed entry; at 1e-6, tables in raw units end at saddles


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
    loading_covs : ndarray of shape (n_features, n_components * (n_components + 1) / 2)
        Their covariances S: the lower triangle of each, row by row.
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
        centred = np.where(missing, 0.0, (X - self.mean) / self.scale)
        tri = Triangles(self.loadings.shape[1])
        moments = tri.squares(self.loadings) + self.loading_covs
        precisions = (
            moments.sum(axis=0) - sparse.csr_array(missing.astype(np.float64)) @ moments
        ) / self.noise_variance
        precisions[:, tri.diagonal] += 1
        scores = tri.solved(precisions, centred @ self.loadings / self.noise_variance)[1]
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
    nothing = Imputation(
        X, np.zeros(p), mean, scale, np.zeros((p, d)), np.zeros((p, d * (d + 1) // 2)), 1.0, np.empty(0), True
    )
    if not missing.any():
        return nothing
    if not varying.any():
        return replace(nothing, X=np.where(missing, mean, X).astype(X.dtype))
    data = Observed(np.ascontiguousarray(centred[:, varying] / scale[varying]), missing[:, varying])
    fit, bounds, converged = run(data, d, max_iter, tol)
    loadings, covs, variance = nothing.loadings, nothing.loading_covs, nothing.missing_variance
    loadings[varying], covs[varying] = fit.loadings, loading_covs(data, fit)
    variance[varying] = scale[varying] ** 2 * missing_variance(data, fit, covs[varying])
    mean[varying] += scale[varying] * fit.offset
    return replace(
        nothing,
        X=_filled(X, missing, mean, scale, fit.scores.means, loadings),
        noise_variance=fit.noise,
        bounds=np.array(bounds),
        converged=converged,
    )


def _scales(squares: FloatArray, observed: IntArray, standardise: bool) -> FloatArray:
    """What to divide the columns by: their deviations, or a common one; never zero. Those without entries have none."""
    common = float(np.sqrt(squares.sum() / max(1, observed.sum()))) or 1.0
    if not standardise:
        return np.full(len(squares), common)
    deviations = np.sqrt(squares / np.maximum(observed, 1))
    return np.where(deviations > 0, deviations, common)


def _filled(
    X: FloatArray, missing: BoolArray, mean: FloatArray, scale: FloatArray, scores: FloatArray, loadings: FloatArray
) -> FloatArray:
    """Copy X, with the expectations in its gaps."""
    rows, columns = np.nonzero(missing)
    filled = X.copy()
    expected = np.einsum("ia,ia->i", scores[rows], loadings[columns])
    filled[rows, columns] = mean[columns] + scale[columns] * expected
    return filled


def _check_observed(missing: BoolArray) -> None:
    for axis, what in ((0, "column"), (1, "row")):
        empty = np.flatnonzero(missing.all(axis=axis))
        if len(empty):
            raise ValueError(
                f"Every {what} of X must have an observed entry, got {len(empty)} {what}(s) that are all missing, the "
                f"first one at index {empty[0]}. Drop them: nothing is known of what they would hold."
            )
