"""Variational EM of the relaxed model (section 2.4 of the paper): one pass over the data per iteration.

Where we leave the paper, and why:

1. All loading covariances S_k share an eigenbasis, that of the second moment T of the scores. In this basis every
   update is elementwise: O(n p d + d^3) an iteration instead of O(n p d^3), and no p x d x d array.
2. The M-steps of sigma and u are printed with wrong signs and indices (the bound would fall); here they are the
   maximisers of the bound, and each sub-update raises it: q(Y), q(W), u, sigma, alpha, in this order. The paper lists
   alpha, sigma, u, so that sigma is that of the previous u: `noise_first`. The update of alpha depends on neither.
3. Convergence is a rise of the bound below `tol` per entry of X. A change relative to the bound would depend on the
   unit of the data, because scaling X shifts the bound.
4. EM creeps. Every two iterations are extrapolated (SQUAREM, Varadhan & Roland 2008); the step is kept only if the
   iteration that follows it ends above the bound before, so that the bound never falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gsppca._typing import FloatArray
from gsppca.data.base import Matrix
from gsppca.linalg.squarem import extrapolated, extrapolation_length, root_mean_square
from gsppca.rankings.vem.bound import lower_bound
from gsppca.results import RelaxedFit, RelaxedState

BLOCK = 2**15  # entries of the loadings treated at a time: what is made of them stays small, and in the cache
COLLAPSED = 1e-9  # share of the sum of squares below which the factors explain nothing
Progress = Callable[[str, int, float, FloatArray], None]  # step, iterations, bound, relevance


@dataclass(frozen=True)
class Step:
    """A state and the bound it reaches."""

    state: RelaxedState
    bound: float


@dataclass(frozen=True)
class Run:
    """How far a run has come: all that it needs to go on, to the last bit.

    Attributes
    ----------
    step : Step
        Where it stands.
    bounds : sequence of float
        Bounds of the accepted iterations so far.
    n_iter : int
        Iterations so far.
    converged : bool
        Whether the bound has settled.
    """

    step: Step
    bounds: Sequence[float]
    n_iter: int
    converged: bool = False


def relaxed_em(
    matrix: Matrix,
    start: Step,
    *,
    n_done: int,
    bounds: Sequence[float],
    max_iter: int,
    tol: float,
    accelerate: bool = True,
    noise_first: bool = False,
    progress: Progress | None = None,
    converged: bool = False,
    save: Callable[[Run], None] | None = None,
) -> RelaxedFit:
    """Iterate from `start` until the bound settles, or nothing is explained any more.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    start : Step
        A state with its bound.
    n_done, bounds : int, sequence of float
        Iterations that led to `start`, and their bounds.
    max_iter : int
        Iterations allowed, `n_done` included.
    tol : float
        Stop when an EM iteration raises the bound by less than this, per entry of the data.
    accelerate : bool
        Whether to extrapolate.
    noise_first : bool
        Whether sigma is updated before u, in the order of the paper's equations 13 to 15, or after it.
    progress : callable, optional
        Called with the name of the step, the number of iterations, the bound and the relevances.
    converged : bool
        Whether `start` is the end of a run.
    save : callable, optional
        Called with the run before every extrapolated iteration, and at the end.
    """
    record = list(bounds)
    settled = tol * matrix.n_samples * matrix.n_features
    current, n_iter = start, n_done
    axes = np.empty((1, *start.state.loading_mean.shape))  # one memory for all iterations
    del start  # its loadings are as large as those of any step to come

    def advance(step: Step) -> Step:
        nonlocal n_iter, converged
        n_iter += 1
        following = em_step(matrix, [step.state], noise_first, axes)[0]
        converged = following.bound - step.bound <= settled
        if following.bound < step.bound:
            return step  # rounding hides what is left to gain, as when the factors can explain everything
        record.append(following.bound)
        if progress is not None:
            progress("variational EM", n_iter, following.bound, following.state.relevance)
        return following

    while not converged and n_iter < max_iter and not _collapsed(current.state, matrix):
        if save is not None:
            save(Run(current, record, n_iter))
        first = advance(current)
        if converged or n_iter >= max_iter or not accelerate:
            current = first
            continue
        second = advance(first)
        if converged or n_iter >= max_iter:
            current = second
            continue
        candidate = extrapolate(current.state, first.state, second.state, axes[0])
        current = second
        del first, second  # their loadings are not needed any more, and as large as those of the step to come
        n_iter += 1
        landed = em_step(matrix, [candidate], noise_first, axes)[0]
        if landed.bound > current.bound:
            current = landed
            record.append(landed.bound)
        del candidate, landed
    if save is not None:
        save(Run(current, record, n_iter, converged))
    state = current.state
    return RelaxedFit(
        relevance=state.relevance,
        slab_rate=state.slab_rate,
        noise_variance=state.noise_variance,
        loading_mean=state.loading_mean,
        explained=state.explained,
        bounds=np.array(record),
        n_iter=n_iter,
        converged=converged,
        collapsed=_collapsed(state, matrix),
    )


def em_step(
    matrix: Matrix, states: Sequence[RelaxedState], noise_first: bool = False, axes: FloatArray | None = None
) -> list[Step]:
    """Advance some states by one iteration, in one common pass over the data.

    `axes`, of shape (n_states, n_components, n_features), is memory to work in; it may hold the loadings of a state
    that is not needed any more.
    """
    d, p = states[0].loading_mean.shape
    axes = np.empty((len(states), d, p)) if axes is None else axes
    for state, out in zip(states, axes, strict=True):
        np.multiply(state.loading_mean, state.relevance / state.noise_variance, out=out)
    products = matrix.gram_product(axes.reshape(-1, p)).reshape(axes.shape)
    return [_update(matrix, noise_first, *parts) for parts in zip(states, axes, products, strict=True)]


def _collapsed(state: RelaxedState, matrix: Matrix) -> bool:
    """Whether the factors explain nothing: the run is on its way to ``u = 0``, and would only lose the order of u."""
    return bool(state.explained.sum() <= COLLAPSED * matrix.total_squares)


def _update(matrix: Matrix, noise_first: bool, state: RelaxedState, axes: FloatArray, products: FloatArray) -> Step:
    """Update q(Y), q(W), u, sigma and alpha; the new loadings replace ``products = axes X'X``.

    The means of the scores are X A Sigma, with A' = u M' / sigma^2 the axes, and Sigma, of order d, their covariance,
    which comes last: in this order none of the long products is made twice.
    """
    n, (d, p) = matrix.n_samples, axes.shape
    u, s2, rate2 = state.relevance, state.noise_variance, state.slab_rate**2
    precision = s2 * (axes @ axes.T) + state.weighted_loading_cov / s2
    precision.flat[:: d + 1] += 1.0
    score_cov = np.linalg.inv(precision)
    moment = score_cov @ (axes @ products.T) @ score_cov  # of the score means, to become T = E Y'Y
    moment = n * score_cov + (moment + moment.T) / 2
    lam, basis = np.linalg.eigh(moment)
    turned = basis.T @ score_cov
    num, den, relevance = np.empty(p), np.empty(p), np.empty(p)
    loading_log_det, loading_squares, loading_cov = -d * p * math.log(rate2), 0.0, np.zeros(d)
    work = np.empty((3, min(d * p, max(d, BLOCK))))
    for part in _column_blocks(products):
        given = products[:, part]
        g, variance, mean = work[:, : given.size].reshape(3, *given.shape)
        # q(W), eq. of Proposition 5: S_k = diag(variance_k), m_k = u_k S_k g_k / sigma^2, in the eigenbasis of T.
        np.matmul(turned, given, out=g)
        np.multiply.outer(lam / (s2 * rate2), u[part] * u[part], out=variance)
        variance += 1.0  # by how much the data shrinks the prior variance: free of the unit of X
        loading_log_det -= _sum_log(variance)
        np.divide(1 / rate2, variance, out=variance)
        np.multiply(g, u[part] / s2, out=mean)  # in this order: the product of all three may overflow on the way
        mean *= variance
        np.matmul(basis, mean, out=given)
        # u_k maximises 2 u num - u^2 den on [0, 1].
        num[part] = np.einsum("jk,jk->k", mean, g)
        squares = np.multiply(mean, mean, out=g)
        squares += variance  # E w_kj^2
        den[part] = lam @ squares
        relevance[part] = np.clip(num[part] / den[part], 0.0, 1.0)
        loading_squares += float(squares.sum())
        loading_cov += variance @ relevance[part] ** 2
    total = matrix.total_squares
    # Rounding must not make the noise of noiseless data vanish or turn negative.
    least = np.finfo(float).eps * total
    explained = relevance * (2 * num - relevance * den)
    residual = max(total - float(explained.sum()), least)
    before = max(total - float((u * (2 * num - u * den)).sum()), least) if noise_first else residual
    new_state = RelaxedState(
        relevance=relevance,
        slab_rate=math.sqrt(d * p / loading_squares),
        noise_variance=before / (n * p),
        loading_mean=products,
        weighted_loading_cov=(basis * loading_cov) @ basis.T,
        explained=explained,
    )
    bound = lower_bound(
        n,
        p,
        d,
        residual=residual,
        noise_variance=new_state.noise_variance,
        slab_rate=new_state.slab_rate,
        loading_squares=loading_squares,
        loading_log_det=loading_log_det,
        score_squares=float(lam.sum()),
        score_log_det=n * float(np.linalg.slogdet(score_cov)[1]),
    )
    return Step(new_state, bound)


def _column_blocks(loadings: FloatArray) -> list[slice]:
    """Blocks of columns of an array (d, p)."""
    d, p = loadings.shape
    width = max(1, BLOCK // d)
    return [slice(first, first + width) for first in range(0, p, width)]


def _sum_log(positive: FloatArray) -> float:
    """Sum of the logarithms of an array (d, p), five rows multiplied at a time: a fifth of the logarithms."""
    total = 0.0
    for first in range(0, len(positive), 5):
        product = np.multiply.reduce(positive[first : first + 5])
        total += float(np.log(product, out=product).sum())
    return total


def extrapolate(
    start: RelaxedState, first: RelaxedState, second: RelaxedState, out: FloatArray | None = None
) -> RelaxedState:
    """Extrapolate two EM iterations.

    The loadings, written to `out` if it is given, are kept in one basis of the latent space throughout, or differences
    would mean nothing. The rates move on a log scale. An extrapolation never removes a variable: EM alone may do that,
    for good.
    """
    states = (start, first, second)
    loadings = [state.loading_mean.reshape(-1) for state in states]
    blocks = [slice(first, first + BLOCK) for first in range(0, loadings[0].size, BLOCK)]  # no large temporaries
    relevances = [state.relevance for state in states]
    covs = [state.weighted_loading_cov for state in states]
    log_rates = [np.log([state.slab_rate, state.noise_variance]) for state in states]
    # Each group is measured in its own unit: a relevance and a log rate are of order one already.
    units = [root_mean_square(loadings[0])] * len(blocks) + [1.0, float(np.trace(covs[0])), 1.0]
    groups = [[x[block] for x in loadings] for block in blocks] + [relevances, covs, log_rates]
    length = extrapolation_length(zip(groups, units, strict=True))
    loading_mean = np.empty_like(start.loading_mean) if out is None else out
    for block in blocks:
        loading_mean.reshape(-1)[block] = extrapolated([x[block] for x in loadings], length)
    loading_cov = extrapolated(covs, length)
    positive = np.linalg.eigvalsh(loading_cov)[0] > 0
    rates = np.exp(np.clip(extrapolated(log_rates, length), log_rates[2] - 5.0, log_rates[2] + 5.0))
    return replace(
        second,
        relevance=np.clip(extrapolated(relevances, length), 0.01 * second.relevance, 1.0),
        loading_mean=loading_mean,
        weighted_loading_cov=loading_cov if positive else second.weighted_loading_cov,
        slab_rate=float(rates[0]),
        noise_variance=float(rates[1]),
    )
