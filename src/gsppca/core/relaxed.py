"""The relaxed model from start to end: short runs on a grid of slab rates, then one long run from the best."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gsppca._typing import FloatArray
from gsppca.core.start import SHORT_RUN, start_state
from gsppca.core.state import RelaxedFit
from gsppca.core.vem import Progress, Step, em_step, relaxed_em
from gsppca.data.base import Matrix

TOGETHER = 8  # arrays of the size of the loadings that every start needs at once


def fit_relaxed(
    matrix: Matrix,
    loadings: FloatArray,
    slab_rates: Sequence[float],
    noise_variance: float,
    *,
    max_iter: int,
    tol: float,
    accelerate: bool = True,
    progress: Progress | None = None,
) -> RelaxedFit:
    """Run the variational EM from the best of some slab rates.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    loadings : ndarray of shape (n_components, n_features)
        Start of the loadings.
    slab_rates : sequence of float
        Starts of the slab rate. All advance together, `SHORT_RUN` iterations, each a single pass over the data for
        all of them (one after the other when memory is dear); the one with the best bound goes on. A run that
        collapses to u = 0 gives way to the next best.
    noise_variance : float
        Start of the noise variance.
    max_iter, tol, accelerate, progress
        As in `core.vem.relaxed_em`.

    Returns
    -------
    fit : RelaxedFit
        Its `collapsed` is True if every run collapses; it is then the run of best bound.
    """
    n_done = min(SHORT_RUN, max_iter)
    # Together, if the arrays of all starts are small beside the data.
    together = TOGETHER * loadings.size * len(slab_rates) <= matrix.n_samples * matrix.n_features
    groups = [list(slab_rates)] if together else [[rate] for rate in slab_rates]
    runs = [run for rates in groups for run in _short_runs(matrix, loadings, rates, noise_variance, n_done, progress)]
    fits = []
    for step, history in sorted(runs, key=lambda run: -run[0].bound):
        fit = relaxed_em(
            matrix,
            step,
            n_done=n_done,
            bounds=history,
            max_iter=max_iter,
            tol=tol,
            accelerate=accelerate,
            progress=progress,
        )
        if not fit.collapsed:
            return fit
        fits.append(fit)
    return max(fits, key=lambda fit: float(fit.bounds[-1]))


def _short_runs(
    matrix: Matrix,
    loadings: FloatArray,
    slab_rates: Sequence[float],
    noise_variance: float,
    n_iter: int,
    progress: Progress | None,
) -> list[tuple[Step, list[float]]]:
    """Advance some starts together; return where each ends, and its bounds."""
    steps = [Step(start_state(loadings, rate, noise_variance), -math.inf) for rate in slab_rates]
    histories: list[list[float]] = [[] for _ in steps]
    for done in range(1, n_iter + 1):
        for i, step in enumerate(em_step(matrix, [step.state for step in steps])):
            if step.bound > steps[i].bound:  # else rounding hides what is left to gain
                steps[i] = step
                histories[i].append(step.bound)
        if progress is not None:
            best = max(steps, key=lambda step: step.bound)
            progress("start grid", done, best.bound, best.state.relevance)
    return list(zip(steps, histories, strict=True))
