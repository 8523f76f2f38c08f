"""Variational EM of the probabilistic PCA of some observed entries: one pass over the columns for each iteration.

The formulas are those at the head of `components.imputation`. How they are computed, and why an iteration goes further:

1. An iteration begins and ends with numbers of the rows: given z_i and C_i, the loadings of a column need nothing of
   the other columns. So columns are treated in blocks that stay in the cache, and nothing of the size p d^2 is formed.
2. ``sum over observed = sum over all - sum over missing``: with few gaps an iteration costs O(n p d) for three products
   plus O((n + p) d^3 + n_missing d^2).
3. W L' and Y L^-1 fit the data as W and Y do, for any matrix L, but the priors favour one: `best_turn`, given the
   ratios of the slabs. The scores are turned before the loadings are computed, so that no loading has to be.
4. The bound with the best q(w_j), given the scores, is a function of a_j alone. EM goes up by
   ``a_j = E |w_j|^2 / d``, which creeps where w_j vanishes; `_bolder` is Newton's method.
5. Both moves change the path, but no fixed point. The best turn cannot lower the bound. A bolder slab, which is that of
   the scores before, might: an iteration that ends below the bound before it is taken again without.

In raw units t falls ten orders of magnitude below the variance of the largest column, and rounding would show:

6. The basis is that of the principal axes of the loadings. In another, the scores along the least of them would be
   small differences of large numbers.
7. t is the mean of squares that are summed as such, not a difference of sums over the data.
8. A component or a column that the noise hides for a while must not vanish until it rises again out of rounding: the
   start is one with little noise, and no slab falls by more than half in one bold step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gsppca._typing import BoolArray, FloatArray
from gsppca.linalg.triangles import Triangles
from gsppca.linalg.turn import best_turn

BLOCK = 2**18  # entries of triangles and of data treated at a time, about what a cache holds
LARGEST_FALL = 0.5  # of a slab, in one bold step
LEAST_NOISE = 1e-7  # at the start, in units of the mean square of the data
LEAST_SLAB = 1e-12  # always, in the same units


class Observed:
    """Centred columns with zeros in their gaps, and what all iterations need of them.

    Parameters
    ----------
    centred : ndarray of shape (n_samples, n_features)
        Observed entries less the mean of each column, divided by its scale; zero where missing.
    missing : ndarray of shape (n_samples, n_features)
    """

    def __init__(self, centred: FloatArray, missing: BoolArray):
        self.centred, self.seen = centred, ~missing
        self.gaps: Any = sparse.csr_array(missing.astype(np.float64))
        self.gaps_of_columns: Any = self.gaps.T.tocsr()
        self.n_seen = self.seen.sum(axis=0)
        self.n_observed = int(self.n_seen.sum())
        self.column_sums = centred.sum(axis=0)
        self.mean_square = float(np.einsum("ij,ij->", centred, centred)) / self.n_observed

    def blocks(self, size: int) -> list[slice]:
        """Split the columns, with `size` numbers for each besides its own."""
        n, p = self.centred.shape
        width = max(1, BLOCK // (size + n))
        return [slice(first, min(first + width, p)) for first in range(0, p, width)]


@dataclass(frozen=True)
class Scores:
    """Expectations z and covariances C of the scores, these as triangles, and the sum of the log determinants of C."""

    means: FloatArray
    covs: FloatArray
    log_det: float


@dataclass(frozen=True)
class State:
    """What an iteration ends with, in the letters of the head of `components.imputation`.

    Attributes
    ----------
    offset : ndarray of shape (n_features,)
        m_j, less the mean of the observed entries of each column.
    noise, slabs : float, ndarray of shape (n_features,)
        t and a_j.
    loadings : ndarray of shape (n_features, n_components)
        w_j.
    moments : ndarray of shape (n_samples, size)
        Triangles of ``E w_j w_j'``, summed over the observed columns of each row.
    total, relative : ndarray of shape (n_components, n_components)
        ``E w_j w_j'`` and ``E w_j w_j' / a_j``, summed over all columns.
    bolder : ndarray of shape (n_features,)
        Slabs that the next iteration should start from.
    scores, slabs_before, noise_before : Scores or None, ndarray, float
        From which the loadings were computed, and their covariances can be (`loading_covs`).
    bound : float
    """

    offset: FloatArray
    noise: float
    slabs: FloatArray
    loadings: FloatArray
    moments: FloatArray
    total: FloatArray
    relative: FloatArray
    bolder: FloatArray
    scores: Scores
    slabs_before: FloatArray
    noise_before: float
    bound: float


def run(data: Observed, d: int, max_iter: int, tol: float) -> tuple[State, list[float], bool]:
    """Iterate until the bound rises by less than `tol` per observed entry: the state, bounds, whether it settled."""
    state = start(data, d)
    bounds: list[float] = []
    for _ in range(max_iter):
        following = advance(data, state)
        if following.bound < state.bound:
            following = advance(data, state, bold=False)
        gain, state = following.bound - state.bound, following
        bounds.append(state.bound)
        if gain <= tol * data.n_observed:
            return state, bounds, True
    return state, bounds, False


def advance(data: Observed, state: State, *, bold: bool = True, turn: bool = True) -> State:
    """One iteration: scores, their turn, loadings, slabs, offset and noise, in this order."""
    tri = Triangles(state.loadings.shape[1])
    scores = _scores(data, tri, state)
    slabs = state.bolder if bold else state.slabs
    if turn:
        scores, factor = _turned(tri, scores, state)
        slabs = slabs * factor
    return _loadings(data, tri, scores, state.offset, slabs, state.noise)


def start(data: Observed, d: int) -> State:
    """Principal axes of the data with its gaps at the means."""
    centred, (n, p) = data.centred, data.centred.shape
    # The side that is smaller; of more than this many axes than there are, the others start at nothing.
    if n <= p:
        values, vectors = np.linalg.eigh(centred @ centred.T)
        axes = centred.T @ vectors[:, ::-1][:, :d]
        axes /= np.sqrt(np.maximum(values[::-1][:d], 1e-300))
    else:
        values, vectors = np.linalg.eigh(centred.T @ centred)
        axes = vectors[:, ::-1][:, :d]
    head = np.maximum(values[::-1][:d], 0.0) / n
    noise = max(data.mean_square - float(head.sum()) * n / data.n_observed, LEAST_NOISE * data.mean_square)
    loadings = np.zeros((p, d))
    loadings[:, : len(head)] = axes * np.sqrt(np.maximum(head - noise, 1e-2 * noise))
    slab = float(np.mean(loadings**2))
    cov, slabs = slab / n * np.eye(d), np.full(p, slab)
    total, tri = loadings.T @ loadings + p * cov, Triangles(d)
    moments = np.repeat(tri.held(total), n, axis=0)
    for block in data.blocks(tri.size):
        moments -= data.gaps[:, block] @ (tri.squares(loadings[block]) + tri.held(cov))
    nothing = Scores(np.zeros((n, d)), np.zeros((n, tri.size)), 0.0)
    return State(
        np.zeros(p), noise, slabs, loadings, moments, total, total / slab, slabs, nothing, slabs, noise, -np.inf
    )


def loading_covs(data: Observed, state: State) -> FloatArray:
    """Triangles of the covariances S of the loadings."""
    p, d = state.loadings.shape
    tri = Triangles(d)
    covs = np.empty((p, tri.size))
    each = tri.squares(state.scores.means) + state.scores.covs
    for block in data.blocks(tri.size):
        precisions = _over_seen(data, each, block) / state.noise_before
        precisions[:, tri.diagonal] += 1 / state.slabs_before[block, None]
        covs[block] = tri.solved(precisions, np.zeros((len(precisions), d)))[0]
    return covs


def missing_variance(data: Observed, state: State, covs: FloatArray) -> FloatArray:
    """Sums over the gaps of each column of ``Var(w'y) + t``, given the covariances of the loadings."""
    tri, scores = Triangles(state.loadings.shape[1]), state.scores
    variance = state.noise * np.diff(data.gaps_of_columns.indptr)
    for block in data.blocks(tri.size):
        gaps = data.gaps_of_columns[block]
        spread = gaps @ scores.covs
        variance[block] += tri.products(tri.squares(state.loadings[block]), spread)
        variance[block] += tri.products(covs[block], gaps @ tri.squares(scores.means) + spread)
    return variance


def _scores(data: Observed, tri: Triangles, state: State) -> Scores:
    """Z and C."""
    w, m = state.loadings, state.offset
    pulls = data.centred @ w - m @ w + data.gaps @ (m[:, None] * w)  # x - m on the observed entries, times the loadings
    precisions = state.moments / state.noise
    precisions[:, tri.diagonal] += 1
    covs, means, log_dets = tri.solved(precisions, pulls / state.noise)
    return Scores(means, covs, float(log_dets.sum()))


def _turned(tri: Triangles, scores: Scores, state: State) -> tuple[Scores, float]:
    """Scores in the basis that the priors favour, along the principal axes, and the factor of the slabs there."""
    n, (p, d) = len(scores.means), state.loadings.shape
    moment = scores.means.T @ scores.means + tri.whole(scores.covs.sum(axis=0))
    change = best_turn(moment, state.relative, n, p)
    axes = np.linalg.eigh(change @ state.total @ change)[1][:, ::-1]
    inverse = np.linalg.solve(change, axes)  # of the whole turn, transposed
    covs = tri.held(inverse.T @ tri.whole(scores.covs) @ inverse)
    log_det = scores.log_det - 2 * n * float(np.linalg.slogdet(change)[1])
    return Scores(scores.means @ inverse, covs, log_det), float(np.sum((change @ change) * state.relative)) / (p * d)


def _over_seen(data: Observed, each: FloatArray, block: slice) -> FloatArray:
    """Sums of numbers of the rows over those where each column of a block is observed."""
    return each.sum(axis=0) - data.gaps_of_columns[block] @ each


def _loadings(
    data: Observed, tri: Triangles, scores: Scores, offset: FloatArray, slabs: FloatArray, noise: float
) -> State:
    """Loadings, slabs, offset and noise given the scores, and the bound."""
    (n, d), p = scores.means.shape, len(slabs)
    each = tri.squares(scores.means) + scores.covs
    sums = _over_seen(data, scores.means, slice(None))
    pulls = data.centred.T @ scores.means - offset[:, None] * sums
    loadings, new_slabs, bolder, new_offset = np.empty((p, d)), np.empty(p), np.empty(p), np.empty(p)
    total, relative, moments = np.zeros(tri.size), np.zeros(tri.size), np.zeros((n, tri.size))
    log_det = squares = 0.0
    for block in data.blocks(tri.size):
        a, m = slabs[block], new_offset[block]
        precisions = _over_seen(data, each, block) / noise
        precisions[:, tri.diagonal] += 1 / a[:, None]
        covs, w, log_dets = tri.solved(precisions, pulls[block] / noise)
        outer, traces, lengths = tri.squares(w), covs[:, tri.diagonal].sum(axis=1), np.einsum("ja,ja->j", w, w)
        loadings[block] = w
        new_slabs[block] = np.maximum((lengths + traces) / d, LEAST_SLAB)
        bolder[block] = _bolder(a, d, traces, lengths, tri.products(covs, covs), tri.products(covs, outer))
        m[:] = (data.column_sums[block] - np.einsum("ja,ja->j", w, sums[block])) / data.n_seen[block]
        # E (x - m - w'y)^2: of the expectations, of the scores around theirs, and of the loadings around theirs, for
        # which the moments of the scores are t (S^-1 - I/a).
        errors = (data.centred[:, block] - scores.means @ w.T - m) * data.seen[:, block]
        squares += float(np.einsum("ij,ij->", errors, errors))
        squares += float(tri.products(_over_seen(data, scores.covs, block), outer).sum())
        squares += noise * float(np.sum(d - traces / a))
        log_det += float(log_dets.sum())
        outer += covs
        total += outer.sum(axis=0)
        relative += (1 / new_slabs[block]) @ outer
        moments -= data.gaps[:, block] @ outer
    moments += total
    new_noise = squares / data.n_observed
    # At the best noise variance the quadratic term of the data is a constant; at the best slabs, that of the loadings.
    bound = -0.5 * data.n_observed * (np.log(2 * np.pi * new_noise) + 1)
    bound += 0.5 * (scores.log_det - float(each[:, tri.diagonal].sum()) + n * d)
    bound += 0.5 * (log_det - d * float(np.log(new_slabs).sum()))
    after = (new_offset, new_noise, new_slabs, loadings, moments, tri.whole(total), tri.whole(relative), bolder)
    return State(*after, scores, slabs, noise, float(bound))


def _bolder(
    a: FloatArray, d: int, traces: FloatArray, lengths: FloatArray, norms: FloatArray, forms: FloatArray
) -> FloatArray:
    """A step of Newton's method towards the slab at which the bound with the best q(w_j) is highest.

    With lam the eigenvalues of ``S^-1 - I/a``, ``r = 1 / (1 + a lam)`` and c the squared pulls along their axes, it is
    where ``N = sum lam r`` equals ``D = sum c r^2``. N / D is nearly linear in a, as in `rankings.vem.expansion`.

    Parameters
    ----------
    a : ndarray of shape (n_features,)
        The slabs at which S and w were computed.
    d : int
    traces, lengths, norms, forms : ndarray of shape (n_features,)
        ``tr S``, ``w'w``, ``tr S^2`` and ``w'S w``.
    """
    wanted = (d - traces / a) / a  # N
    found = lengths / a**2  # D
    slope = 2 * wanted * (lengths - forms / a) / a**3 - found * (d - 2 * traces / a + norms / a**2) / a**2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = found / wanted
        factor = np.where(slope * a > 0, 1 - found * (wanted - found) / (slope * a), ratio)
        edge = ratio * ratio
    factor = np.clip(factor, np.clip(edge, LARGEST_FALL, 1.0), np.maximum(4 * edge, 1.0))
    return np.maximum(a * np.where(np.isfinite(factor), factor, 1.0), LEAST_SLAB)
