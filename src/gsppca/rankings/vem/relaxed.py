"""The relaxed model from start to end: short runs on a grid of slab rates, then one long run from the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from gsppca._typing import FloatArray
from gsppca.data.base import Matrix
from gsppca.rankings.vem.em import Progress, Run, em_step, relaxed_em
from gsppca.rankings.vem.start import start_state
from gsppca.rankings.vem.update import Step
from gsppca.results import RelaxedFit, RelaxedState

TOGETHER = 8  # arrays of the size of the loadings that every start needs at once
FEW_NUMBERS = 2**21  # 16 MB, which may be held whatever the size of the data


def fit_relaxed(
    matrix: Matrix,
    loadings: FloatArray,
    slab_rates: Sequence[float],
    noise_variance: float,
    *,
    max_iter: int,
    tol: float,
    accelerate: bool,
    noise_first: bool,
    short_iterations: int,
    progress: Progress | None,
    save: Callable[[list[Run]], None] | None,
) -> RelaxedFit:
    """Run the variational EM from the best of some slab rates.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    loadings : ndarray of shape (n_components, n_features)
        Start of the loadings.
    slab_rates : sequence of float
        Starts of the slab rate. All advance together, `short_iterations` times, each a single pass over the data for
        all of them, or one after the other when memory is dear; the one with the best bound goes on. A run that
        collapses to u = 0 gives way to the next best.
    noise_variance : float
        Start of the noise variance.
    max_iter, tol, accelerate, noise_first, progress
        As in `rankings.vem.em.relaxed_em`.
    short_iterations : int
        Iterations of every start, before the best goes on.
    save : callable, optional
        Called now and then with how far the runs of all starts have come; `finish_runs` goes on from there.

    Returns
    -------
    fit : RelaxedFit
        Its `collapsed` is True if every run collapses; it is then the run of best bound.
    """
    n_done = min(short_iterations, max_iter)
    # As in every iteration: noise that rounding hides would make the first bound infinite, and all runs end there.
    noise_variance = max(
        noise_variance, np.finfo(float).eps * matrix.total_squares / (matrix.n_samples * matrix.n_features)
    )

    def short_runs(rates: Sequence[float]) -> list[Run]:
        starts = [start_state(loadings, rate, noise_variance) for rate in rates]
        ended = _short_runs(matrix, starts, n_done, noise_first, progress)
        return [Run(step, history, n_done) for step, history in ended]

    # Together, if the arrays of all starts are small beside the data; else those of the best alone are kept.
    runs: Iterable[Run]
    if TOGETHER * loadings.size * len(slab_rates) <= max(matrix.n_samples * matrix.n_features, FEW_NUMBERS):
        runs = sorted(short_runs(slab_rates), key=lambda run: -run.step.bound)
    else:
        runs = _best_first(slab_rates, short_runs)
    return finish_runs(
        matrix,
        runs,
        max_iter=max_iter,
        tol=tol,
        accelerate=accelerate,
        noise_first=noise_first,
        progress=progress,
        save=save,
    )


def finish_runs(
    matrix: Matrix,
    runs: Iterable[Run],
    *,
    max_iter: int,
    tol: float,
    accelerate: bool,
    noise_first: bool,
    progress: Progress | None,
    save: Callable[[list[Run]], None] | None,
) -> RelaxedFit:
    """Go on with the first run that does not collapse; parameters as in `fit_relaxed`."""
    saved = [] if save is None else list(runs)
    best: RelaxedFit | None = None

    def save_run(number: int, run: Run) -> None:
        saved[number] = run
        assert save is not None
        save(saved)

    number = -1
    for run in saved or runs:  # enumerate would hold the run
        number += 1
        start = [run.step]
        n_done, bounds, converged = run.n_iter, run.bounds, run.converged
        del run  # nor does anything else hold the start while its run goes on: its loadings may be large
        fit = relaxed_em(
            matrix,
            start.pop(),
            n_done=n_done,
            bounds=bounds,
            max_iter=max_iter,
            tol=tol,
            accelerate=accelerate,
            noise_first=noise_first,
            progress=progress,
            converged=converged,
            save=None if save is None else partial(save_run, number),
        )
        if not fit.collapsed:
            return fit
        best = fit if best is None or fit.bounds[-1] > best.bounds[-1] else best
    assert best is not None
    return best


def _best_first(rates: Sequence[float], short_runs: Callable[[Sequence[float]], list[Run]]) -> Iterator[Run]:
    """Short runs one after the other, the best first; of the others only the bounds are kept: they are made again."""
    bounds: dict[float, float] = {}
    best: list[Run] = []
    for rate in rates:
        run = short_runs([rate])[0]
        bounds[rate] = run.step.bound
        if not best or run.step.bound > best[0].step.bound:
            best = [run]
        del run
    yield best.pop()
    for rate in sorted(rates, key=lambda rate: -bounds[rate])[1:]:
        yield short_runs([rate])[0]


def _short_runs(
    matrix: Matrix,
    starts: Sequence[RelaxedState],
    n_iter: int,
    noise_first: bool,
    progress: Progress | None,
) -> list[tuple[Step, list[float]]]:
    """Advance some starts together; return where each ends, and its bounds."""
    steps = [Step(start, -math.inf) for start in starts]
    histories: list[list[float]] = [[] for _ in steps]
    for done in range(1, n_iter + 1):
        for i, step in enumerate(em_step(matrix, [step.state for step in steps], noise_first)):
            if step.bound > steps[i].bound:  # else rounding hides what is left to gain
                steps[i] = step
                histories[i].append(step.bound)
        if progress is not None:
            best = max(steps, key=lambda step: step.bound)
            progress("start grid", done, best.bound, best.state.relevance)
    return list(zip(steps, histories, strict=True))
