"""The evidence of nested supports with noise on the active variables too (Theorem 1 of the paper).

    L(alpha) = sum_i log p(r_i; k, d, alpha, sigma) + log density of the inactive variables,

p the density of `evidence.mixture`. As sigma -> 0 it becomes the closed form of `evidence.row_norms`, and like it, it
sees the data through the row norms only.

1. L rises from alpha = 0. It falls again towards alpha = infinity, where the support is noise alone, if the mean
   square of its entries exceeds sigma^2; it is not concave there. Newton's method in log(alpha), from the moments
   ``E r^2 = k (d / alpha^2 + sigma^2)``, therefore keeps a bracket of signs of the slope. Where the support varies less
   than the noise, the best rate is often infinite; the answer is then infinity, and the evidence that of the noise.
2. Sums over rows are sums over the Chebyshev nodes of `evidence.radii`. How many are needed is not known from a
   formula, as it is for the Bessel density, but seen: as many as make the last coefficients of log p vanish, at rates
   on either side of the start.
3. No row has infinite density, so none needs a floor but one far below what changes any digit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.fft import dct

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.base import Matrix
from gsppca.evidence.mixture import log_density
from gsppca.evidence.radii import NodeGroup, compress_radii, intervals, squared_at
from gsppca.evidence.row_norms import ZERO_ROW, empty_evidence, evidence_along, inactive_part
from gsppca.results import EvidencePath

LEAST_SIGNAL = 0.05  # share of the mean square that the start leaves to the signal
PROBED_RATES = np.log([0.6, 1.8])  # beside the start
PROBED_COUNTS = np.array([16, 32, 64, 128, 256])
RESOLVED = 1e-13  # last Chebyshev coefficients, relative to the largest
SETTLED = 1e-8  # step of log(alpha)
NO_GAIN = 1e-13  # of the log density, relative: a step that promises less is the last
LONGEST = 1.0
MAX_ROUNDS = 100


def noisy_evidence_along(
    matrix: Matrix,
    order: IntArray,
    n_components: int,
    inactive_variance: float | None,
    sizes: IntArray,
    active_variance: float,
    progress: Callable[[int, int], None] | None = None,
) -> EvidencePath:
    """Log evidence and best slab rate of the supports made of the first variables of a ranking.

    Parameters
    ----------
    matrix, order, n_components, inactive_variance, sizes, progress
        As in `evidence.row_norms.evidence_along`.
    active_variance : float
        sigma^2 of the active variables; 0 gives the noiseless evidence.

    Returns
    -------
    path : EvidencePath
        With infinite slab rates where the support is best explained by noise alone.

    Notes
    -----
    Cost: one or two passes over the data, and for each size some 10 evaluations of the density at 16 to 256 nodes,
    about 5 ms. When there are thousands of sizes, give those that matter.
    """
    if active_variance == 0:
        return evidence_along(matrix, order, n_components, inactive_variance, sizes, progress)
    n, d = matrix.n_samples, n_components
    mean_squares = np.cumsum(matrix.column_squares[order])[sizes - 1] / n
    excess = mean_squares / sizes - active_variance
    log_rates = 0.5 * np.log(d / np.maximum(excess, LEAST_SIGNAL * mean_squares / sizes))

    def planner(lowest: FloatArray, highest: FloatArray, part: slice) -> tuple[IntArray, FloatArray]:
        return _plan(sizes[part], d, log_rates[part], active_variance, lowest, highest)

    least = ZERO_ROW**2 * mean_squares
    radii = compress_radii(matrix, order, sizes, d, least, least, planner)
    active_part, done = np.empty(len(sizes)), 0
    for group in radii.groups():
        at = group.positions
        log_rates[at], active_part[at] = _solve(
            group, sizes[at].astype(float), d, active_variance, log_rates[at], excess[at] > 0
        )
        done += len(at)
        if progress is not None:
            progress(done, len(sizes))
    noise = -0.5 * n * (mean_squares / active_variance + sizes * np.log(2 * np.pi * active_variance))
    alone = noise >= active_part
    noise_part, variances = inactive_part(matrix, order, inactive_variance, sizes)
    rates = np.where(alone, np.inf, np.exp(log_rates))
    log_evidence = np.where(alone, noise, active_part) + noise_part
    return EvidencePath(sizes, log_evidence, rates, variances, empty_evidence(matrix, inactive_variance))


def _plan(
    sizes: IntArray, d: int, log_rates: FloatArray, variance: float, lowest: FloatArray, highest: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Fewest nodes, in the norm or its logarithm, that resolve the log density of each size; and the shifts."""
    counts = np.full(len(sizes), PROBED_COUNTS[-1])
    shifts = np.zeros(len(sizes))
    open_ = np.arange(len(sizes))
    for count in PROBED_COUNTS[:-1].tolist():
        nodes = np.cos(np.pi * (np.arange(count) + 0.5) / count)
        for shift in (np.inf, 0.0):
            if not len(open_):
                return counts, shifts
            variable = np.full(len(open_), shift)
            squared = squared_at(nodes, *intervals(lowest[open_], highest[open_], variable), variable)
            fine = np.ones(len(open_), dtype=bool)
            for away in PROBED_RATES:
                rates = log_rates[open_, None] + away
                values = log_density(sizes[open_, None].astype(float), d, squared, rates, np.array(variance))[0]
                coefficients = np.abs(dct(values, axis=1))
                fine &= coefficients[:, -4:].max(axis=1) <= RESOLVED * coefficients.max(axis=1)
            counts[open_[fine]], shifts[open_[fine]] = count, shift
            open_ = open_[~fine]
    return counts, shifts


def _solve(
    group: NodeGroup, sizes: FloatArray, d: int, variance: float, start: FloatArray, has_signal: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Best log rates of the sizes of a group, and their sums of log densities; -inf where no finite rate is best."""
    log_rate, values = start.copy(), np.full(len(start), -np.inf)
    low, high = np.full(len(start), -np.inf), np.full(len(start), np.inf)
    open_ = np.arange(len(start))
    for _ in range(MAX_ROUNDS):
        terms = log_density(sizes[open_, None], d, group.squared[open_], log_rate[open_, None], np.array(variance))
        value, slope, curvature = (np.einsum("ij,ij->i", group.weights[open_], term) for term in terms)
        here = log_rate[open_]
        low[open_], high[open_] = np.where(slope > 0, here, low[open_]), np.where(slope > 0, high[open_], here)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(curvature < 0, -slope / curvature, np.sign(slope) * LONGEST)
        step = np.clip(step, -LONGEST, LONGEST)
        outside = (here + step <= low[open_]) | (here + step >= high[open_])
        step = np.where(outside, 0.5 * (low[open_] + high[open_]) - here, step)
        values[open_] = value + 0.5 * slope * step  # what the last step adds, to its third power
        settled = (np.abs(step) <= SETTLED) | (np.abs(slope * step) <= NO_GAIN * np.abs(value))
        # Without signal, and rising at the start: the rate runs away.
        lost = ~has_signal[open_] & np.isinf(high[open_])
        values[open_[lost]] = -np.inf
        log_rate[open_] += step
        open_ = open_[~(settled | lost)]
        if not len(open_):
            return log_rate, values
    raise RuntimeError(f"The slab rates at {group.positions[open_][:5]} were not found: please report this data.")
