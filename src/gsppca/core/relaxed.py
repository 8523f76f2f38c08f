"""The relaxed model from start to end: short runs on a grid of slab rates, then one long run from the best."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gsppca._typing import FloatArray
from gsppca.core.start import SHORT_RUN, start_state
from gsppca.core.state import RelaxedFit
from gsppca.core.vem import Progress, Step, em_step, relaxed_em
from gsppca.data.base import Matrix


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
        all of them; the one with the best bound goes on. A run that collapses to u = 0 gives way to the next best.
    noise_variance : float
        Start of the noise variance.
    max_iter, tol, accelerate, progress
        As in `core.vem.relaxed_em`.

    Returns
    -------
    fit : RelaxedFit
        Its `collapsed` is True if every run collapses; it is then the run of best bound.
    """
    steps = [Step(start_state(loadings, rate, noise_variance), -math.inf) for rate in slab_rates]
    histories: list[list[float]] = [[] for _ in steps]
    n_done = min(SHORT_RUN, max_iter)
    for _ in range(n_done):
        steps = em_step(matrix, [step.state for step in steps])
        for history, step in zip(histories, steps, strict=True):
            history.append(step.bound)
    fits = []
    for step, history in sorted(zip(steps, histories, strict=True), key=lambda run: -run[0].bound):
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
