"""Variational EM of the relaxed model (section 2.4 of the paper): one pass over the data per iteration.

Where we leave the paper, and why:

1. All loading covariances S_k share an eigenbasis, that of the second moment T of the scores. In this basis every
   update is elementwise: O(n p d + d^3) an iteration instead of O(n p d^3), and no p x d x d array.
2. The M-steps of sigma and u are printed with wrong signs and indices (the bound would fall); here they are the
   maximisers of the bound, and each sub-update raises it: q(Y), q(W), u, sigma, alpha, in this order. The paper lists
   alpha, sigma, u, so that sigma is that of the previous u: `noise_first`. The update of alpha depends on neither.
3. Convergence is a rise of the bound below `tol` per entry of X. A change relative to the bound would depend on the
   unit of the data, because scaling X shifts the bound.
4. EM creeps. Iterations go further by moves that need no data and raise the bound (`rankings.vem.expansion`). Every two
   are extrapolated (SQUAREM, Varadhan & Roland 2008); the step is kept only if the iteration that follows it ends above
   the bound before, so that the bound never falls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gsppca._typing import FloatArray
from gsppca.data.base import Matrix
from gsppca.rankings.vem.extrapolation import extrapolate
from gsppca.rankings.vem.update import Step, update
from gsppca.results import RelaxedFit, RelaxedState

COLLAPSED = 1e-9  # share of the sum of squares below which the factors explain nothing
Progress = Callable[[str, int, float, FloatArray], None]  # step, iterations, bound, relevance


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
        Whether to expand and extrapolate the iterations.
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
        following = em_step(matrix, [step.state], noise_first, axes, accelerate)[0]
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
        landed = em_step(matrix, [candidate], noise_first, axes, accelerate)[0]
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
    matrix: Matrix,
    states: Sequence[RelaxedState],
    noise_first: bool = False,
    axes: FloatArray | None = None,
    expand: bool = False,
) -> list[Step]:
    """Advance some states by one iteration, in one common pass over the data.

    `axes`, of shape (n_states, n_components, n_features), is memory to work in; it may hold the loadings of a state
    that is not needed any more. `expand` lets the iteration go further (`rankings.vem.expansion`).
    """
    d, p = states[0].loading_mean.shape
    axes = np.empty((len(states), d, p)) if axes is None else axes
    for state, out in zip(states, axes, strict=True):
        np.multiply(state.loading_mean, state.relevance / state.noise_variance, out=out)
    products = matrix.gram_product(axes.reshape(-1, p)).reshape(axes.shape)
    n, total = matrix.n_samples, matrix.total_squares
    return [
        update(n, total, *parts, noise_first=noise_first, expand=expand)
        for parts in zip(states, axes, products, strict=True)
    ]


def _collapsed(state: RelaxedState, matrix: Matrix) -> bool:
    """Whether the factors explain nothing: the run is on its way to ``u = 0``, and would only lose the order of u."""
    return bool(state.explained.sum() <= COLLAPSED * matrix.total_squares)
