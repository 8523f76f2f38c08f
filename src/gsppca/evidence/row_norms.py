"""The evidence of all nested supports along a ranking (sections 2.3 and 2.5 of the paper).

A support of size k, with row norms r_i on it and nu = (k - d)/2, has under the noiseless model (Theorem 2)

    L(alpha) = sum_i [ log K_nu(alpha r_i) - nu log r_i ] + n c_k + n (k + d)/2 log alpha
               - sum of squares of the inactive / (2 s) - n (p - k)/2 log(2 pi s),
    c_k = (1 - (k + d)/2) log 2 - log Gamma(d/2) - (k/2) log pi,

with s the variance of the inactive variables. It sees the data through the row norms only, because the paper
integrates the loadings anew for every observation.

Where we leave the paper, and why:

1. The slab rate is found on a log scale. With w(t) = t K_{nu-1}(t)/K_nu(t), dL/dlog(alpha) = sum_i (d - w_i) and
   dw/dlog(t) = w^2 + 2 nu w - t^2 > 0: L is strictly concave in log(alpha) for all k and d, also k < d, and its second
   derivative comes free with the first.
2. The sums over rows are taken over a few weighted nodes that stand for the norms of all rows, to rounding
   (`evidence.radii`). The data is read once or twice for all sizes, and Newton's steps do not depend on n.
3. A row that is zero on the support has infinite density once k > d, and would decide the selection alone. A row with
   a norm below 1e-8 of the root mean square of the rows counts as the norm that noise alone would give it,
   sqrt(k s), or the root mean square if that is smaller.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import gammaln

from gsppca._typing import FloatArray, IntArray
from gsppca.data.base import Matrix
from gsppca.evidence.bessel import block_workspace, log_kv_block, w_block
from gsppca.evidence.radii import NodeGroup, compress_radii
from gsppca.results import EvidencePath

ZERO_ROW = 1e-8  # relative to the root mean square of the row norms
SETTLED = 1e-4  # a Newton step of log(alpha) after which one more ends below rounding
LONGEST = 1.0  # Newton step, far from the solution
MAX_ROUNDS = 60


def evidence_along(
    matrix: Matrix,
    order: IntArray,
    n_components: int,
    inactive_variance: float | None,
    sizes: IntArray,
    progress: Callable[[int, int], None] | None = None,
) -> EvidencePath:
    """Log evidence and best slab rate of the supports made of the first variables of a ranking.

    Parameters
    ----------
    matrix : Matrix
        The centred data, without constant columns.
    order : ndarray of shape (n_ranked,)
        The variables, the most relevant first; those that are left out are inactive at all sizes.
    n_components : int
        d.
    inactive_variance : float or None
        s, common to all sizes; None takes, for each size, the mean square of its inactive variables.
    sizes : ndarray of shape (n_sizes,)
        Sizes to evaluate, ascending, from 1 to n_ranked.
    progress : callable, optional
        Called with how many sizes are done, and how many there are.
    """
    n = matrix.n_samples
    noise_part, variances = inactive_part(matrix, order, inactive_variance, sizes)
    mean_squares = np.cumsum(matrix.column_squares[order])[sizes - 1] / n
    stand_ins = np.minimum(sizes * variances, mean_squares)
    radii = compress_radii(matrix, order, sizes, n_components, ZERO_ROW**2 * mean_squares, stand_ins)
    # E r^2 = k d / alpha^2 under the model: the moments give a start.
    log_rates = 0.5 * np.log(n_components * sizes / mean_squares)
    nu = (sizes - n_components) / 2
    bessel_part = np.empty(len(sizes))
    done = 0
    for group in radii.groups():
        _solve(group, nu, n_components, log_rates, bessel_part)
        done += len(group.positions)
        if progress is not None:
            progress(done, len(sizes))
    # From sum_i log(t^|nu| K_nu(t)), t = alpha r, to sum_i log K_nu(t) - nu log r.
    bessel_part -= np.abs(nu) * n * log_rates + np.maximum(nu, 0.0) * radii.log_sums

    d = n_components
    constants = (1 - (sizes + d) / 2) * np.log(2) - gammaln(d / 2) - sizes / 2 * np.log(np.pi)
    log_evidence = bessel_part + n * (constants + (sizes + d) / 2 * log_rates) + noise_part
    empty = empty_evidence(matrix, inactive_variance)
    return EvidencePath(sizes, log_evidence, np.exp(log_rates), variances, empty)


def empty_evidence(matrix: Matrix, variance: float | None) -> float:
    """Log evidence of the empty model: every variable is noise, of the given variance or of the best one."""
    entries = matrix.n_samples * int(np.count_nonzero(matrix.column_squares))
    s = matrix.total_squares / entries if variance is None else variance
    return -matrix.total_squares / (2 * s) - entries / 2 * float(np.log(2 * np.pi * s))


def inactive_part(
    matrix: Matrix, order: IntArray, inactive_variance: float | None, sizes: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Log density of the variables outside the supports of a ranking, and the variances they are given.

    Parameters are those of `evidence_along`.
    """
    # Constant columns are no variables: they do not count among the inactive.
    n, p = matrix.n_samples, int(np.count_nonzero(matrix.column_squares))
    squares = matrix.column_squares[order]
    n_inactive = p - np.cumsum(squares > 0)[sizes - 1]
    unranked = max(matrix.total_squares - float(squares.sum()), 0.0) if len(order) < matrix.n_features else 0.0
    inactive = np.append(np.cumsum(squares[::-1])[::-1], 0.0)[sizes] + unranked
    variances = _inactive_variances(inactive_variance, inactive, n * n_inactive, matrix.total_squares / (n * p))
    return -inactive / (2 * variances) - n * n_inactive / 2 * np.log(2 * np.pi * variances), variances


def _inactive_variances(
    given: float | None, inactive: FloatArray, n_entries: IntArray, mean_square: float
) -> FloatArray:
    if given is not None:
        return np.full(len(inactive), given)
    # With no inactive variable left the value multiplies nothing; any positive one will do.
    return np.where(n_entries > 0, inactive / np.maximum(n_entries, 1), mean_square)


def _solve(group: NodeGroup, orders: FloatArray, d: int, log_rates: FloatArray, sums: FloatArray) -> None:
    """Solve the sizes of a group by Newton's method, and write the log rates and ``sum_i log(t^|nu| K_nu(t))``."""
    radii, weights, nu = np.sqrt(group.squared), group.weights, orders[group.positions, None]
    work = block_workspace(*radii.shape)
    log_rate = log_rates[group.positions]
    for _ in range(MAX_ROUNDS):
        t = radii * np.exp(log_rate)[:, None]
        slope, curvature = _slopes(t, w_block(nu, t, work), nu, weights, d)
        step = np.clip(slope / curvature, -LONGEST, LONGEST)
        log_rate += step
        if np.abs(step).max() <= SETTLED:
            break
    else:
        raise RuntimeError(f"The slab rates at {group.positions[:5]} were not found: please report this data.")
    t = radii * np.exp(log_rate)[:, None]
    log_k, w = log_kv_block(nu, t, work)
    slope, curvature = _slopes(t, w, nu, weights, d)
    step = slope / curvature
    log_rates[group.positions] = log_rate + step
    # The last step comes free with the sum, which follows it to the second power: the third is below rounding.
    first = np.sum(weights * (np.abs(nu) - nu - w), axis=1)
    here = np.sum(weights * (log_k + np.abs(nu) * np.log(t)), axis=1)
    sums[group.positions] = here + step * (first - 0.5 * curvature * step)


def _slopes(t: FloatArray, w: FloatArray, nu: FloatArray, weights: FloatArray, d: int) -> tuple[FloatArray, FloatArray]:
    """First derivative of L by log(alpha), and minus the second."""
    return np.sum(weights * (d - w), axis=1), np.sum(weights * (w * (w + 2 * nu) - t * t), axis=1)
