"""PPCA with penalised loadings, by penalised EM: what svnPCA and vsnPCA share (Ulfarsson & Solo 2008, 2011).

The model is x_i = G y_i + noise, y_i ~ N(0, I_d), noise variance s2, G of p rows g_j; X is centred, n x p.

    minimise  J = -log L(G, s2) + h sum_j pen(||g_j||),    pen = identity (l1) or 1[> 0] (l0)    (U1)
    log L = -(n/2) (p log 2 pi + log|C|) - tr(X C^-1 X') / 2,   C = G G' + s2 I                  (U2)

    E-step   M = G'G + s2 I,  E = X G M^-1,  P = n s2 M^-1 + E'E,  r_j = E'x_j                   (U3)
    M-step of G, row by row: minimise (g'P g - 2 g'r_j) / (2 s2) + h pen(||g||)                  (U4)
        l0: P^-1 r_j if r_j'P^-1 r_j > 2 s2 h, else 0                                            (U5)
        l1: 0 if ||r_j|| <= s2 h, else Q diag(t / (l_i t + s2 h)) Q'r_j with P = Q diag(l) Q'    (U6)
            and t = ||g_j|| the root of sum_i w_i^2 / (l_i t + s2 h)^2 = 1, w = Q'r_j
    M-step of s2: (||X||^2 - 2 sum_j g_j'r_j + tr(G'G P)) / (n p)                                (U7)

    BIC = -2 log L + log(n) (d k - d (d - 1) / 2 + 1),  k rows kept                              (U8)

Each step lowers J. Where this leaves the authors:

1. In (U8) d is min(d, k): k variables have at most k axes.
2. s2 has a floor, 1e-8 of the mean square: with as many axes as rank, the likelihood has no maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from gsppca.baselines.linalg import FloatArray, leading_svd, row_norms

_FLOOR = 1e-8  # of the mean square: smallest noise variance
_NEWTON_STEPS = 50
_ROOT = 1e-13  # how far from one the norm in (U6) may be


@dataclass(frozen=True)
class PenalisedPPCA:
    """A state of the penalised EM.

    Parameters
    ----------
    loadings : ndarray of shape (n_features, n_components)
        G.
    noise_variance : float
        s2.
    log_likelihood : float
        log L of (U2); NaN for a state in the middle of the iterations.
    n_iter : int
        EM iterations.
    converged : bool
        Whether the loadings moved by less than the tolerance.
    """

    loadings: FloatArray
    noise_variance: float
    log_likelihood: float = float("nan")
    n_iter: int = 1
    converged: bool = True

    @property
    def strength(self) -> FloatArray:
        """Row norms of G."""
        return row_norms(self.loadings)


@dataclass(frozen=True)
class ScoreMoments:
    """What the E-step (U3) hands to the M-step: P (d x d), the rows r_j (p x d), and s2."""

    second: FloatArray
    cross: FloatArray
    noise_variance: float


RowStep = Callable[[ScoreMoments, float], FloatArray]


def l0_levels(moments: ScoreMoments) -> FloatArray:
    """Penalty at which each row leaves (U5): its gain r_j'P^-1 r_j / (2 s2)."""
    return _gains(moments, least_squares_rows(moments))


def least_squares_rows(moments: ScoreMoments) -> FloatArray:
    """Rows P^-1 r_j of the M-step without penalty."""
    return linalg.solve(moments.second, moments.cross.T, assume_a="pos", check_finite=False).T


def _gains(moments: ScoreMoments, rows: FloatArray) -> FloatArray:
    levels: FloatArray = np.einsum("jk,jk->j", moments.cross, rows) / (2 * moments.noise_variance)
    return levels


def l1_levels(moments: ScoreMoments) -> FloatArray:
    """Penalty at which each row leaves (U6): ||r_j|| / s2."""
    return row_norms(moments.cross) / moments.noise_variance


def l0_rows(moments: ScoreMoments, penalty: float) -> FloatArray:
    """M-step (U5): least squares rows whose gain beats the penalty."""
    rows = least_squares_rows(moments)
    return np.where((_gains(moments, rows) > penalty)[:, np.newaxis], rows, 0.0)


def l1_rows(moments: ScoreMoments, penalty: float) -> FloatArray:
    """M-step (U6), all rows at once.

    1 / ||w / (l t + c)|| is concave and increasing in t, so that Newton from below climbs to the root.
    """
    values, vectors = np.linalg.eigh(moments.second)
    shrink = moments.noise_variance * penalty
    rows = np.zeros_like(moments.cross)
    kept = row_norms(moments.cross) > shrink
    w = moments.cross[kept] @ vectors
    length = (row_norms(w) - shrink) / values[-1]
    for _ in range(_NEWTON_STEPS):
        denominator = values * length[:, np.newaxis] + shrink
        ratio = (w / denominator) ** 2
        norm2 = ratio.sum(axis=1)
        slope = (ratio * values / denominator).sum(axis=1)
        excess = np.sqrt(norm2) - 1
        length = length + norm2 * excess / slope
        # Of the equation, not of the step: a tiny length carries the rounding of a step of size shrink / values.
        if np.abs(excess).max(initial=0.0) <= _ROOT:
            break
    scaled = w * (length[:, np.newaxis] / (values * length[:, np.newaxis] + shrink))
    rows[kept] = scaled @ vectors.T
    return rows


def ppca(X: FloatArray, n_samples: int, n_components: int) -> PenalisedPPCA:
    """Maximum likelihood without penalty, in closed form (Tipping & Bishop 1999).

    `X` may be any matrix with the X'X of the n_samples observations.
    """
    n_features = X.shape[1]
    _, values, right = leading_svd(X, n_components)
    eigenvalues = values**2 / n_samples
    total = float(np.sum(X**2)) / n_samples
    rest = (total - float(eigenvalues.sum())) / max(n_features - n_components, 1)
    noise_variance = max(rest, _FLOOR * total / n_features, np.finfo(np.float64).tiny)
    loadings = right.T * np.sqrt(np.maximum(eigenvalues - noise_variance, 0.0))
    return PenalisedPPCA(loadings, noise_variance, log_likelihood(X, n_samples, loadings, noise_variance))


def log_likelihood(X: FloatArray, n_samples: int, loadings: FloatArray, noise_variance: float) -> float:
    """Log-likelihood (U2), by way of the d x d matrix M: |C| = s2^(p-d) |M|, C^-1 = (I - G M^-1 G') / s2."""
    n_features, n_components = loadings.shape
    M = loadings.T @ loadings + noise_variance * np.eye(n_components)
    factor = linalg.cholesky(M, lower=True, check_finite=False)
    whitened = linalg.solve_triangular(factor, (X @ loadings).T, lower=True, check_finite=False)
    log_det = (n_features - n_components) * np.log(noise_variance) + 2 * np.sum(np.log(np.diag(factor)))
    quadratic = (np.sum(X**2) - np.sum(whitened**2)) / noise_variance
    return float(-n_samples / 2 * (n_features * np.log(2 * np.pi) + log_det) - quadratic / 2)


def score_moments(X: FloatArray, n_samples: int, loadings: FloatArray, noise_variance: float) -> ScoreMoments:
    """E-step (U3)."""
    M = loadings.T @ loadings + noise_variance * np.eye(loadings.shape[1])
    inverse = linalg.inv(M, check_finite=False)
    scores = (X @ loadings) @ inverse
    second = n_samples * noise_variance * inverse + scores.T @ scores
    return ScoreMoments(second=(second + second.T) / 2, cross=X.T @ scores, noise_variance=noise_variance)


def em_step(X: FloatArray, n_samples: int, model: PenalisedPPCA, penalty: float, row_step: RowStep) -> PenalisedPPCA:
    """One E-step, the M-step of the loadings, the M-step of the noise variance; none of them raises (U1)."""
    moments = score_moments(X, n_samples, model.loadings, model.noise_variance)
    loadings = row_step(moments, penalty)
    squares = float(np.sum(X**2))
    residual = squares - 2 * np.sum(loadings * moments.cross) + np.sum((loadings.T @ loadings) * moments.second)
    entries = n_samples * X.shape[1]
    floor = max(_FLOOR * squares / entries, np.finfo(np.float64).tiny)
    return PenalisedPPCA(loadings, max(float(residual) / entries, floor))


def penalised_em(
    X: FloatArray,
    n_samples: int,
    start: PenalisedPPCA,
    penalty: float,
    row_step: RowStep,
    max_iter: int = 500,
    tol: float = 1e-4,
) -> PenalisedPPCA:
    """Minimise (U1) from `start` until an iteration moves G by less than `tol` of its norm.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Centred data, or any matrix with the same X'X.
    n_samples : int
        Number of observations behind X'X.
    start : PenalisedPPCA
        Where to start: PPCA, or the solution at the penalty before.
    penalty : float
        h of (U1).
    row_step : callable
        `l0_rows` or `l1_rows`.
    max_iter : int, default=500
        Most iterations.
    tol : float, default=1e-4
        Relative change of the loadings at which to stop.

    Returns
    -------
    model : PenalisedPPCA
        Loadings, noise variance, log-likelihood.
    """
    model, converged, n_iter = start, False, 0
    while n_iter < max_iter and not converged:
        n_iter += 1
        previous = model.loadings
        model = em_step(X, n_samples, model, penalty, row_step)
        converged = bool(np.linalg.norm(model.loadings - previous) <= tol * np.linalg.norm(model.loadings))
    value = log_likelihood(X, n_samples, model.loadings, model.noise_variance)
    return PenalisedPPCA(model.loadings, model.noise_variance, value, n_iter, converged)


def bic(model: PenalisedPPCA, n_samples: int) -> float:
    """Bayesian information criterion (U8)."""
    kept = int(np.count_nonzero(model.strength))
    axes = min(model.loadings.shape[1], kept)
    n_parameters = axes * kept - axes * (axes - 1) / 2 + 1
    return float(-2 * model.log_likelihood + np.log(n_samples) * n_parameters)
