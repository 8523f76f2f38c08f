"""Variational EM of a probabilistic PCA of the observed entries of some data; each iteration is a few products.

The relaxed model, with a slab variance a_j for each variable instead of its relevance, of the observed entries alone,
which is right when entries are missing at random: ``x_ij = m_j + w_j' y_i + noise`` for (i, j) observed,
``w_j ~ N(0, a_j I)``, ``y_i ~ N(0, I_d)``. The scores have the expectations z_i and covariances C_i, the loadings w_j
and S_j. With t the variance of the noise and sums over what is observed, the best ones would be

    C_i^-1 = I + (1/t) sum_j (w_j w_j' + S_j),      z_i = C_i sum_j w_j (x_ij - m_j) / t         scores
    S_j^-1 = I/a_j + (1/t) sum_i (z_i z_i' + C_i),  w_j = S_j sum_i z_i (x_ij - m_j) / t         loadings
    m_j    = mean_i (x_ij - w_j' z_i),   t = mean of E (x_ij - m_j - w_j' y_i)^2,   a_j = E |w_j|^2 / d

1. They need a matrix of order d for each row and column, since each has gaps of its own: O((n + p) d^3) an iteration.
   Here all C_i share their eigenvectors, and all S_j theirs: ``C_i = R diag(c_i) R'``, ``S_j = Q diag(s_j) Q'``. With R
   and Q given, the best c_i and s_j are the inverses of the diagonals of the precisions above, in these axes. R and Q
   are the eigenvectors of the sums over all rows or columns, gaps or not: without gaps, the best. An iteration that
   would end below the bound before it, because with many gaps they are not, keeps the axes it had: then it cannot.
2. The expectations are not restricted. They solve systems of order d, one for each row and column, to which a few
   conjugate gradients come near: with the gaps filled by ``m_j + w_j' z_i`` and the sums above extended to all entries,
   one eigendecomposition serves all systems as a preconditioner. Each step raises the bound. One that is not followed
   by others is not enough where the noise is small: superfluous components would learn what the gaps were filled with.
3. ``sum over observed = sum over all - sum over gaps``, and sums over gaps are of vectors, not of matrices. An
   iteration costs O(n p d) for some seven products and O(n_missing d + (n + p) d^2) besides; nothing has more entries
   than the data, or the loadings.
4. Scores and loadings are updated by the same lines: `_posterior`.
5. EM creeps. Every two iterations are extrapolated, and the step is kept only if the iteration that follows it ends
   above the bound before, so that the bound never falls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gsppca._typing import FloatArray
from gsppca.components.gappy import Gappy
from gsppca.linalg.conjugate import conjugate_gradients
from gsppca.linalg.squarem import LONGEST, extrapolated, extrapolation_length, root_mean_square

BLOCK = 2**16  # entries of scores or loadings treated at a time
LEAST_SLAB = 1e-12  # in units of the mean square of the data


@dataclass(frozen=True)
class Moments:
    """Expectations, and covariances ``axes diag(variances_i) axes'``, of the scores or of the loadings.

    Attributes
    ----------
    means, variances : ndarray of shape (n_vectors, n_components)
    axes : ndarray of shape (n_components, n_components)
    """

    means: FloatArray
    variances: FloatArray
    axes: FloatArray


@dataclass(frozen=True)
class State:
    """What an iteration starts from and ends with, in the letters of the head of this file.

    Attributes
    ----------
    scores, loadings : Moments
    offset : ndarray of shape (n_features,)
        m_j, less the mean of the observed entries of each column.
    expected : ndarray of shape (n_missing,)
        w_j' z_i for all gaps, row by row.
    noise : float
        t.
    slabs : ndarray of shape (n_features,)
        a_j.
    bound : float
        Lower bound of the log evidence of the observed entries, all constants kept.
    """

    scores: Moments
    loadings: Moments
    offset: FloatArray
    expected: FloatArray
    noise: float
    slabs: FloatArray
    bound: float


def run(data: Gappy, n_components: int, max_iter: int, tol: float) -> tuple[State, list[float], bool]:
    """Iterate until an EM iteration raises the bound by at most `tol` per observed entry.

    Returns
    -------
    state : State
    bounds : list of float
        Of the accepted iterations; never falls.
    converged : bool
    """
    settled, converged = tol * data.n_observed, False
    record: list[float] = []
    current, n_iter, longest = start(data, n_components), 0, LONGEST

    def advance(state: State) -> State:
        nonlocal n_iter, converged
        n_iter += 1
        following = em_step(data, state)
        if following.bound < state.bound:
            following = em_step(data, state, turn=False)
        converged = following.bound - state.bound <= settled
        if following.bound < state.bound:
            return state  # rounding hides what is left to gain
        record.append(following.bound)
        return following

    while not converged and n_iter < max_iter:
        first = advance(current)
        if converged or n_iter >= max_iter:
            current = first
            continue
        second = advance(first)
        if converged or n_iter >= max_iter:
            current = second
            continue
        candidate, length = extrapolate(data, (current, first, second), longest)
        current = second
        n_iter += 1
        landed = em_step(data, candidate)
        if landed.bound > current.bound:
            current = landed
            record.append(landed.bound)
            longest = min(4 * longest, LONGEST)
        else:
            longest = max(length / 4, 1.0)  # or the next ones would be as long, and in vain
    return current, record, converged


def start(data: Gappy, d: int) -> State:
    """Principal axes of the data with its gaps at the means."""
    centred, (n, p) = data.filled, data.filled.shape
    mean_square = data.total / data.n_observed
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
    means = np.zeros((p, d))
    means[:, : len(head)] = axes * np.sqrt(np.maximum(head - noise, 1e-2 * noise))
    slab = float(np.mean(means**2))
    return State(
        scores=Moments(np.zeros((n, d)), np.ones((n, d)), np.eye(d)),
        loadings=Moments(means, np.full((p, d), slab / n), np.eye(d)),
        offset=np.zeros(p),
        expected=np.zeros(len(data.places)),
        noise=noise,
        slabs=np.full(p, slab),
        bound=-np.inf,
    )


def em_step(data: Gappy, old: State, turn: bool = True) -> State:
    """Update the scores, the loadings, and then their slabs, the offsets and the noise.

    Without `turn` the covariances keep their axes.
    """
    n, p = data.filled.shape
    d, t, m = old.scores.means.shape[1], old.noise, old.offset
    data.fill(m, old.expected)
    pulls = data.filled @ old.loadings.means - m @ old.loadings.means
    scores, _ = _posterior(data.by_row, data.score_sums, np.ones((n, 1)), t, pulls, old.scores, old.loadings, turn)
    z, score_sum = scores.means, scores.means.sum(axis=0)
    between = data.products(z, old.loadings.means)
    data.fill(m, between)
    pulls = data.filled.T @ z - np.outer(m, score_sum)
    prior = 1 / old.slabs[:, None]
    loadings, spread = _posterior(data.by_column, data.loading_sums, prior, t, pulls, old.loadings, scores, turn)
    w, s = loadings.means, loadings.variances
    squares = np.einsum("ja,ja->j", w, w) + s.sum(axis=1)
    slabs = np.maximum(squares / d, LEAST_SLAB)
    expected = data.products(z, w)
    fits = w @ score_sum - np.bincount(data.columns, expected, p)  # sums over what is observed, as all below
    offset = (data.column_sums - fits) / data.observed
    cross = np.vdot(w, pulls) - between @ expected + m @ fits  # x_ij w_j' z_i
    fit_squares = np.vdot(z.T @ z, w.T @ w) - expected @ expected
    rest = data.total + data.observed @ offset**2 - 2 * offset @ (data.column_sums - fits) - 2 * cross + fit_squares
    # Rounding must not make the noise of noiseless data vanish or turn negative.
    residual = max(float(rest + spread), np.finfo(np.float64).eps * data.total)
    noise = residual / data.n_observed
    # At the best noise variance the quadratic term of the data is a constant.
    bound = -0.5 * data.n_observed * (np.log(2 * np.pi * noise) + 1)
    bound -= 0.5 * (np.vdot(z, z) + scores.variances.sum() - _sum_log(scores.variances) - n * d)
    bound -= 0.5 * (np.sum(squares / slabs) + d * np.log(slabs).sum() - _sum_log(s) - p * d)
    return State(scores, loadings, offset, expected, noise, slabs, float(bound))


def _posterior(
    gaps: Any,
    sums: Callable[[FloatArray, FloatArray], FloatArray],
    prior: FloatArray,
    noise: float,
    pulls: FloatArray,
    own: Moments,
    other: Moments,
    turn: bool,
) -> tuple[Moments, float]:
    """Update the scores given the loadings, or the loadings given the scores.

    Parameters
    ----------
    gaps : sparse array of shape (n_own, n_other)
        Ones in the gaps.
    sums : callable
        Of ``v v' x`` over the gaps of each own vector, given the own x and the other v.
    prior : ndarray of shape (n_own, 1)
        Prior precisions.
    pulls : ndarray of shape (n_own, n_components)
        Data, filled by the product of the means of both sides, times the means of the other side.

    Returns
    -------
    moments : Moments
    spread : float
        Sum of ``E (w_j' y_i)^2 - (w_j' z_i)^2`` over what is observed.
    """
    cov = other.variances.sum(axis=0)
    whole = other.means.T @ other.means + (other.axes * cov) @ other.axes.T
    values, vectors = np.linalg.eigh(whole)
    axes = vectors if turn else own.axes
    diagonal = np.einsum("ak,ak->k", axes, whole @ axes)
    squares, overlap = (other.means @ axes) ** 2, (other.axes.T @ axes) ** 2
    variances, covs, spread = np.empty_like(pulls), np.empty_like(pulls), 0.0
    for part in _blocks(pulls):
        rows = gaps[part]
        covs[part] = rows @ other.variances  # over the gaps, in the axes of the other side
        seconds = np.maximum(diagonal - rows @ squares - covs[part] @ overlap, 0.0)  # observed, in the new axes
        variances[part] = 1 / (prior[part] + seconds / noise)
        spread += float(np.vdot(variances[part], seconds))

    # In the eigenvectors: the preconditioner and the sums over all are diagonal.
    precisions, turned, back = noise * prior + values, other.means @ vectors, vectors.T @ other.axes

    def over_all(x: FloatArray) -> FloatArray:  # but the covariances only where they are observed
        return precisions * x - (covs * (x @ back)) @ back.T

    first = own.means @ vectors
    means = conjugate_gradients(
        first,
        pulls @ vectors - over_all(first),
        times=lambda x: over_all(x) - sums(x, turned),
        preconditioned=lambda x: x / precisions,
    )
    spread += float(np.vdot((means @ back) ** 2, cov - covs))
    return Moments(means @ vectors.T, variances, axes), spread


def _blocks(vectors: FloatArray) -> list[slice]:
    n, d = vectors.shape
    height = max(1, BLOCK // d)
    return [slice(first, min(first + height, n)) for first in range(0, n, height)]


def _sum_log(positive: FloatArray) -> float:
    return float(sum(np.log(positive[part]).sum() for part in _blocks(positive)))


def extrapolate(data: Gappy, states: Sequence[State], longest: float) -> tuple[State, float]:
    """Extrapolate two EM iterations, and say how far.

    Variances move on a log scale. The scores and all covariances are those of the last state: an iteration finds them.
    """
    loadings, offsets = [state.loadings.means for state in states], [state.offset for state in states]
    logs = [np.log(np.append(state.slabs, state.noise)) for state in states]
    groups = (loadings, root_mean_square(loadings[0])), (offsets, 1.0), (logs, 1.0)
    length = extrapolation_length(groups, longest)
    variances = np.exp(np.clip(extrapolated(logs, length), logs[2] - 5.0, logs[2] + 5.0))
    means, last = extrapolated(loadings, length), states[2]
    landed = replace(
        last,
        loadings=replace(last.loadings, means=means),
        offset=extrapolated(offsets, length),
        expected=data.products(last.scores.means, means),
        noise=float(variances[-1]),
        slabs=np.maximum(variances[:-1], LEAST_SLAB),
    )
    return landed, length


def missing_variance(data: Gappy, state: State) -> FloatArray:
    """Sums over the gaps of each column of ``Var(w'y) + t``."""
    scores, loadings = state.scores, state.loadings
    covs = data.by_column @ scores.variances
    seconds = data.by_column @ (scores.means @ loadings.axes) ** 2 + covs @ (scores.axes.T @ loadings.axes) ** 2
    around = np.einsum("ja,ja->j", (loadings.means @ scores.axes) ** 2, covs)
    around += np.einsum("ja,ja->j", loadings.variances, seconds)
    return around + state.noise * np.diff(data.by_column.indptr)
