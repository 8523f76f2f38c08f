"""The updates of one iteration of the variational EM, given its product with the data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gsppca._typing import FloatArray
from gsppca.linalg.turn import best_turn
from gsppca.rankings.vem.bound import lower_bound
from gsppca.rankings.vem.expansion import likelier, logs_of_rows
from gsppca.results import RelaxedState

BLOCK = 2**15  # entries of the loadings treated at a time: what is made of them stays small, and in the cache


@dataclass(frozen=True)
class Step:
    """A state and the bound it reaches."""

    state: RelaxedState
    bound: float


@dataclass
class _Loadings:
    """What the updates of q(W) and u leave, besides the means of the loadings; sums are over the variables.

    In the eigenbasis of the second moment of the scores, where the covariances of the loadings are diagonal.
    """

    start: FloatArray  # u that q(W) was made with
    num: FloatArray  # the bound depends on u_k by 2 u_k num_k - u_k^2 den_k
    den: FloatArray
    relevance: FloatArray  # new u
    log_det: float
    squares: float
    weighted_cov: FloatArray  # the diagonal of sum_k u_k^2 S_k
    moment: FloatArray  # sum_k E w_k w_k', if it is asked for

    def explained(self, relevance: FloatArray) -> FloatArray:
        return relevance * (2 * self.num - relevance * self.den)


def update(
    n: int,
    total: float,
    state: RelaxedState,
    axes: FloatArray,
    products: FloatArray,
    *,
    noise_first: bool,
    expand: bool,
) -> Step:
    """Update q(Y), q(W), u, sigma and alpha; the new loadings replace ``products = axes X'X``.

    The means of the scores are X A Sigma, with A' = u M' / sigma^2 the axes, and Sigma, of order d, their covariance,
    which comes last: in this order none of the long products is made twice.

    Parameters
    ----------
    n : int
        Number of samples.
    total : float
        Sum of squares of the data.
    state : RelaxedState
        Where the iteration begins.
    axes, products : ndarray of shape (n_components, n_features)
        A', and its product with X'X, which is overwritten.
    noise_first : bool
        Whether sigma is that of u before its update.
    expand : bool
        Whether to make the moves of `rankings.vem.expansion`.
    """
    d, p = axes.shape
    s2 = state.noise_variance
    precision = s2 * (axes @ axes.T) + state.weighted_loading_cov / s2
    precision.flat[:: d + 1] += 1.0
    score_cov = np.linalg.inv(precision)
    moment = score_cov @ (axes @ products.T) @ score_cov  # of the score means, to become T = E Y'Y
    moment = n * score_cov + (moment + moment.T) / 2
    lam, basis = np.linalg.eigh(moment)
    lam = np.maximum(lam, np.finfo(float).tiny)  # beside a huge one, rounding leaves the least any sign
    new = _update_loadings(state, products, lam, basis.T @ score_cov, expand)
    explained = new.explained(new.relevance)
    # Rounding must not make the noise of noiseless data vanish or turn negative.
    least = np.finfo(float).eps * total
    residual = max(total - float(explained.sum()), least)
    before = max(total - float(new.explained(new.start).sum()), least) if noise_first else residual
    score_squares, score_log_det = float(lam.sum()), n * float(np.linalg.slogdet(score_cov)[1])
    turn, unit = basis, 1.0
    if expand:
        unit = float(new.relevance.max()) or 1.0
        change = best_turn(np.diag(lam), new.moment, n, p)
        squared, log_det = change @ change, float(np.linalg.slogdet(change)[1])
        new.squares = float((new.moment * squared).sum())
        score_squares = float(lam @ np.diagonal(np.linalg.inv(squared)))
        new.log_det += 2 * p * log_det
        score_log_det -= 2 * n * log_det
        turn = basis @ change
    slab_rate = math.sqrt(d * p / new.squares)
    bound = lower_bound(
        n,
        p,
        d,
        residual=residual,
        noise_variance=before / (n * p),
        slab_rate=slab_rate,
        loading_squares=new.squares,
        loading_log_det=new.log_det,
        score_squares=score_squares,
        score_log_det=score_log_det,
    )
    _turn_columns(turn * unit, products)
    new_state = RelaxedState(
        relevance=new.relevance / unit,
        slab_rate=slab_rate / unit,
        noise_variance=before / (n * p),
        loading_mean=products,
        weighted_loading_cov=(turn * new.weighted_cov) @ turn.T,
        explained=explained,
    )
    return Step(new_state, bound)


def _update_loadings(
    state: RelaxedState, products: FloatArray, lam: FloatArray, turned: FloatArray, expand: bool
) -> _Loadings:
    """Update q(W) and u; ``turned @ products`` are the products of the scores with the data, in the eigenbasis.

    The means of the loadings, in this basis, replace the products.
    """
    d, p = products.shape
    s2, rate2 = state.noise_variance, state.slab_rate**2
    start = state.relevance.copy() if expand else state.relevance
    num, den, relevance = np.empty((3, p))
    new = _Loadings(start, num, den, relevance, -d * p * math.log(rate2), 0.0, np.zeros(d), np.zeros((d, d)))
    work = np.empty((2, min(d * p, max(d, BLOCK))))
    for part in _column_blocks(products):
        given = products[:, part]
        g, variance = work[:, : given.size].reshape(2, *given.shape)
        np.matmul(turned, given, out=g)
        if expand:
            start[part] = likelier(start[part], lam, np.square(g / math.sqrt(s2)), s2 * rate2)
        u = start[part]
        # q(W), eq. of Proposition 5: S_k = diag(variance_k), m_k = u_k S_k g_k / sigma^2, in the eigenbasis of T.
        np.multiply.outer(lam / (s2 * rate2), u * u, out=variance)
        variance += 1.0  # by how much the data shrinks the prior variance: free of the unit of X
        new.log_det -= sum(float(logs.sum()) for logs in logs_of_rows(variance))
        np.divide(1 / rate2, variance, out=variance)
        mean = np.multiply(g, u / s2, out=given)  # in this order: the product of all three may overflow on the way
        mean *= variance
        # u_k maximises 2 u num - u^2 den on [0, 1], or without a limit if its unit is free.
        num[part] = np.einsum("jk,jk->k", mean, g)
        squares = np.multiply(mean, mean, out=g)
        squares += variance  # E w_kj^2
        den[part] = lam @ squares
        relevance[part] = np.clip(num[part] / den[part], 0.0, np.inf if expand else 1.0)
        new.squares += float(squares.sum())
        new.weighted_cov += variance @ relevance[part] ** 2
        if expand:
            new.moment += mean @ mean.T
            new.moment.flat[:: d + 1] += variance.sum(axis=1)
    return new


def _turn_columns(turn: FloatArray, loadings: FloatArray) -> None:
    """Multiply loadings by a matrix of order d, in place."""
    for part in _column_blocks(loadings):
        loadings[:, part] = turn @ loadings[:, part]


def _column_blocks(loadings: FloatArray) -> list[slice]:
    """Blocks of columns of an array (d, p)."""
    d, p = loadings.shape
    width = max(1, BLOCK // d)
    return [slice(first, first + width) for first in range(0, p, width)]
