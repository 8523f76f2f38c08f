"""Ranking by the noise path: the noise level at which the loadings of each variable shrink to zero.

Every variable k gets a variance a_k of its own for its loadings (automatic relevance determination), w_kj ~ N(0,
a_k), and the noise variance tau is not estimated but held, and raised geometrically until no variable is left. This
is the sparsity path of the model under tempering; the score of a variable is the log noise level at which its
loadings vanish.

At a level tau, with G = X'(XA) the only pass over the data, in the eigenbasis of the scores' second moment,

    Sigma = (I + W'W / tau)^-1,  A = W Sigma / tau,  A'G + n Sigma = Q diag(lambda) Q',  Y = G Q,
    g_j = lambda_j / tau,  z_kj = (Y_kj / tau)^2,

and the bound of row k alone, as a function of its variance a (posterior of the loadings at its optimum), is

    f_k(a) = sum_j [ a z_kj / (1 + a g_j) - log(1 + a g_j) ] / 2,   f_k'(0) = (sum_j z_kj - sum_j g_j) / 2.

A variable lives while f_k'(0) > 0: relevances are exact zeros otherwise, and a dead variable can return.
The path ends by itself: sum_j Y_kj^2 <= |x_k|^2 sum_j lambda_j, so that tau >= |x_k|^2 kills k.

One iteration a level is not an economy but the method: the run stays near the dense solution it comes from. Iterating
each level to convergence switches whole components off, and ranks worse (docs/beyond.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gsppca._typing import FloatArray
from gsppca.data.base import Matrix
from gsppca.linalg.spectrum import leading_spectrum
from gsppca.rankings.vem.start import spectral_loadings
from gsppca.results import NoisePath

STEP = 0.1  # of the log noise variance; smaller ones rank alike
FIRST_LEVEL = 1 / 8  # of the noise variance of PPCA: well inside the dense phase
ROW_STEPS = 3  # fixed-point steps of the row variances at each level
REVIVAL = 1e-6  # row variance at which a variable returns, relative to the largest
LEAST_NOISE = 1e-12  # of the mean variance: what is called noise when the components explain everything

Progress = Callable[[int, int, int], None]


def noise_path(
    matrix: Matrix, n_components: int, step: float = STEP, row_steps: int = ROW_STEPS, progress: Progress | None = None
) -> NoisePath:
    """Rank variables by tempering, from the dense model to collapse.

    Parameters
    ----------
    matrix : Matrix
        The centred data, without constant columns.
    n_components : int
        Dimension of the latent space. Too many cost little, too few a lot.
    step : float
        Of the log noise variance, between levels.
    row_steps : int
        Fixed-point steps of the row variances at each level.
    progress : callable, optional
        Gets the number of levels done, the largest possible number, and how many variables live.
    """
    n, p = matrix.n_samples, matrix.n_features
    spectrum = leading_spectrum(matrix, n_components)
    rest = matrix.total_squares / n - float(spectrum.eigenvalues.sum())
    noise = max(rest / max(p - n_components, 1), LEAST_NOISE * matrix.total_squares / (n * p))
    loadings = spectral_loadings(spectrum, noise)
    moment = loadings @ loadings.T
    variances = np.full(p, float(np.trace(moment)) / (p * n_components))
    last = math.log(float(matrix.column_squares.max()))  # kills all
    level = math.log(FIRST_LEVEL * noise)
    most = math.ceil((last - level) / step) + 1
    score = np.full(p, np.nan)
    margin = np.full(p, np.inf)
    levels, relevance = [], []
    while True:
        tau = math.exp(level)
        response, precision = _factor_step(matrix, loadings, moment, tau)
        power = np.einsum("jk,jk->k", response, response)
        previous, margin = margin, np.log(np.maximum(power, np.finfo(float).tiny)) - math.log(float(precision.sum()))
        _record_deaths(score, previous, margin, level, step)
        alive = margin > 0
        levels.append(tau)
        if not alive.any():
            relevance.append(np.zeros(p))
            break
        variances = np.where(alive, np.maximum(variances, REVIVAL * variances.max()), 0.0)
        variances[alive] = row_variances(variances[alive], response[:, alive], precision, row_steps)
        shrunk = variances / (1 + variances * precision[:, None])  # posterior variances of the loadings
        loadings = shrunk * response
        moment = loadings @ loadings.T + np.diag(shrunk.sum(axis=1))
        relevance.append(np.sqrt(np.einsum("jk,jk->k", loadings, loadings) / n_components))
        if progress is not None:
            progress(len(levels), most, int(alive.sum()))
        level += step
    return NoisePath(score, np.array(levels), np.array(relevance))


def row_variances(start: FloatArray, response: FloatArray, precision: FloatArray, n_steps: int) -> FloatArray:
    """Raise the row bounds f_k by fixed-point steps of the variances.

    f_k' = (sum_j z_kj / (1 + a g_j)^2 - sum_j g_j / (1 + a g_j)) / 2 vanishes at a maximum; multiplying a by the root
    of the ratio of the two sums is a minorise-maximise step, so that f_k never falls.

    Parameters
    ----------
    start : ndarray of shape (n_features,)
        Positive variances a.
    response : ndarray of shape (n_components, n_features)
        ``Y / tau``.
    precision : ndarray of shape (n_components,)
        g.
    n_steps : int
    """
    z, g = response**2, precision[:, None]
    a = start
    for _ in range(n_steps):
        damping = 1 / (1 + a * g)
        a = a * np.sqrt((z * damping**2).sum(axis=0) / (g * damping).sum(axis=0))
    return a


def _factor_step(matrix: Matrix, loadings: FloatArray, moment: FloatArray, tau: float) -> tuple[FloatArray, FloatArray]:
    """Return ``Y / tau``, shape (d, p), and g, in the eigenbasis of the scores' second moment; one pass."""
    d = len(loadings)
    score_cov = np.linalg.inv(np.eye(d) + moment / tau)
    weights = score_cov @ loadings / tau
    product = matrix.gram_product(weights)
    second = weights @ product.T + matrix.n_samples * score_cov
    values, basis = np.linalg.eigh((second + second.T) / 2)
    return basis.T @ product / tau, np.maximum(values, 0.0) / tau


def _record_deaths(score: FloatArray, previous: FloatArray, margin: FloatArray, level: float, step: float) -> None:
    """Write the level at which the margin crossed zero; the last death counts, if a variable returned."""
    born_dead = np.isinf(previous) & (margin <= 0)
    # z / g falls like 1 / tau: a variable dead at the first level died about this far below it.
    score[born_dead] = level + margin[born_dead]
    died = (previous > 0) & (margin <= 0) & ~born_dead
    share = previous[died] / (previous[died] - margin[died])
    score[died] = level - step * (1 - share)
