"""The evidence of all nested supports along a ranking (sections 2.3 and 2.5 of the paper).

A support of size k, with row norms r_i on it and nu = (k - d)/2, has under the noiseless model (Theorem 2)

    L(alpha) = sum_i [ log K_nu(alpha r_i) - nu log r_i ] + n c_k + n (k + d)/2 log alpha
               - sum of squares of the inactive / (2 s) - n (p - k)/2 log(2 pi s),
    c_k = (1 - (k + d)/2) log 2 - log Gamma(d/2) - (k/2) log pi,

with s the variance of the inactive variables. It sees the data through the row norms only, because the paper
integrates the loadings anew for every observation.

Where we leave the paper, and why:

1. The slab rate is found on a log scale. With w(t) = t K_{nu-1}(t)/K_nu(t), dL/dlog(alpha) = sum_i (d - w_i) and
   dw/dlog(t) = w^2 + 2 nu w - t^2 > 0: L is strictly concave in log(alpha) for all k and d, also k < d, and all its
   derivatives come free with the first.
2. Some sizes are solved by Newton steps; the others start from their neighbours' rates, so close that one evaluation
   and a Taylor series of fourth order give rate and evidence to the last digits. What is too far is evaluated again.
3. A row that is zero on the support has infinite density once k > d, and would decide the selection alone. A row with
   a norm below 1e-8 of the root mean square of the rows counts as the norm that noise alone would give it,
   sqrt(k s), or the root mean square if that is smaller.
"""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from gsppca._typing import FloatArray, IntArray
from gsppca.core.bessel import log_kv_block
from gsppca.core.state import EvidencePath
from gsppca.data.base import Matrix

ZERO_ROW = 1e-8  # relative to the root mean square of the row norms
NEAR = 1e-3  # distance in log(alpha) within which the Taylor series leaves an error below rounding
MAX_STEP = 1.0  # of log(alpha), far from the solution
MAX_ROUNDS = 60
DENSE_SIZES = 24  # sizes solved one by one before the grid of solved sizes begins to widen


def evidence_along(
    matrix: Matrix,
    order: IntArray,
    n_components: int,
    inactive_variance: float | None,
    sizes: IntArray,
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
    """
    n, p = matrix.n_samples, matrix.n_features
    squares = matrix.column_squares[order]
    active = np.cumsum(squares)[sizes - 1]
    unranked = max(matrix.total_squares - float(squares.sum()), 0.0) if len(order) < p else 0.0
    inactive = np.append(np.cumsum(squares[::-1])[::-1], 0.0)[sizes] + unranked
    variances = _inactive_variances(inactive_variance, inactive, n * (p - sizes), matrix.total_squares / (n * p))
    problem = _SlabProblem(matrix, order, n_components, active / n, variances)
    log_rates, bessel_part = problem.solve(sizes)

    d = n_components
    constants = (1 - (sizes + d) / 2) * np.log(2) - gammaln(d / 2) - sizes / 2 * np.log(np.pi)
    noise_part = -inactive / (2 * variances) - n * (p - sizes) / 2 * np.log(2 * np.pi * variances)
    log_evidence = bessel_part + n * (constants + (sizes + d) / 2 * log_rates) + noise_part
    return EvidencePath(sizes, log_evidence, np.exp(log_rates), variances)


def _inactive_variances(
    given: float | None, inactive: FloatArray, n_entries: IntArray, mean_square: float
) -> FloatArray:
    if given is not None:
        return np.full(len(inactive), given)
    # With no inactive variable left the value multiplies nothing; any positive one will do.
    return np.where(n_entries > 0, inactive / np.maximum(n_entries, 1), mean_square)


_local = threading.local()


def _workspace(shape: tuple[int, ...]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Buffers of this thread for blocks of a shape: six for the Bessel kernel, four for the sums."""
    rows, columns = shape
    held: npt.NDArray[np.float64] | None = getattr(_local, "buffers", None)
    if held is None or held.shape[1] < rows or held.shape[2] != columns:
        _local.buffers = held = np.empty((10, rows, columns))
    return held[:6, :rows], held[6:, :rows]


class _SlabProblem:
    """For every size, the maximum of L over the slab rate.

    Arrays indexed by size belong to all sizes of the path; `solve` and its helpers take positions in them.
    """

    def __init__(
        self, matrix: Matrix, order: IntArray, n_components: int, mean_squares: FloatArray, variances: FloatArray
    ):
        self.matrix = matrix
        self.order = order
        self.d = n_components
        self.mean_squares = mean_squares
        self.variances = variances

    def solve(self, sizes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the log rates, and the Bessel sums ``sum_i log K_nu(alpha r_i) - nu log r_i`` at these rates."""
        self.sizes = sizes
        # E r^2 = k d / alpha^2 under the model: the moments give a start, and a smooth reference.
        moments = 0.5 * np.log(self.d * sizes / self.mean_squares)
        log_rates, bessel = moments.copy(), np.zeros(len(sizes))
        knots = _knots(sizes)
        self._refine(knots, log_rates, bessel)
        rest = np.setdiff1d(np.arange(len(sizes)), knots, assume_unique=True)
        if len(rest):
            shift = np.interp(np.log(sizes[rest]), np.log(sizes[knots]), (log_rates - moments)[knots])
            log_rates[rest] = moments[rest] + shift
            self._refine(rest, log_rates, bessel)
        return log_rates, bessel

    def _refine(self, todo: IntArray, log_rates: FloatArray, bessel: FloatArray) -> None:
        """Solve the sizes at positions `todo`, from the rates given, writing both results in place."""
        for _ in range(MAX_ROUNDS):
            sums = self._sums(todo, log_rates[todo])
            step = _taylor_step(sums)
            near = np.abs(step) <= NEAR
            done = todo[near]
            # The Bessel part of L, moved along the step: its derivative lacks the term n (k + d)/2.
            linear = self.matrix.n_samples * (self.sizes[done] + self.d) / 2
            bessel[done] = sums[0, near] + _taylor_gain(sums[:, near], step[near]) - linear * step[near]
            log_rates[todo] += np.clip(step, -MAX_STEP, MAX_STEP)
            todo = todo[~near]
            if not len(todo):
                return
        raise RuntimeError(f"The slab rate of sizes {self.sizes[todo][:5]} was not found: please report this data.")

    def _sums(self, todo: IntArray, log_rates: FloatArray) -> FloatArray:
        """Sums over the rows, shape (5, n_todo): the Bessel part, and four derivatives of L by log(alpha)."""
        sizes, mean_squares = self.sizes[todo], self.mean_squares[todo]
        orders = ((sizes - self.d) / 2)[:, None]
        rates2 = np.exp(2 * log_rates)[:, None]
        floors = (ZERO_ROW**2 * mean_squares)[:, None]
        stand_ins = np.minimum(sizes * self.variances[todo], mean_squares)[:, None]

        def block_sums(squared: FloatArray, part: slice) -> FloatArray:
            zero = squared <= floors[part]
            if zero.any():
                np.copyto(squared, np.broadcast_to(stand_ins[part], squared.shape), where=zero)
            nu = orders[part]
            bessel, (log_squared, t, half, slope) = _workspace(squared.shape)
            np.log(squared, out=log_squared)
            squared *= rates2[part]  # t^2
            log_k, w = log_kv_block(nu, np.sqrt(squared, out=t), bessel)
            values = np.empty((5, len(squared)))
            values[0] = log_k.sum(axis=1) - 0.5 * nu[:, 0] * log_squared.sum(axis=1)
            values[1] = self.d * squared.shape[1] - w.sum(axis=1)
            # With a = w + nu the derivatives of w are: first a^2 - nu^2 - t^2, half the second a first - t^2,
            # half the third first^2 + 2 a (half the second) - 2 t^2.
            w += nu
            np.multiply(w, w, out=slope)
            slope -= squared
            slope -= nu * nu
            np.multiply(w, slope, out=half)
            half -= squared
            third = np.einsum("ij,ij->i", slope, slope) + 2 * np.einsum("ij,ij->i", w, half) - 2 * squared.sum(axis=1)
            values[2:] = -slope.sum(axis=1), -2 * half.sum(axis=1), -2 * third
            return values

        return self.matrix.reduce_radii(block_sums, self.order, sizes)


def _knots(sizes: IntArray) -> IntArray:
    """Positions of the sizes that are solved from scratch: the first ones, then ever wider apart, and the last."""
    count = len(sizes)
    wide = np.unique(np.geomspace(DENSE_SIZES, max(count - 1, DENSE_SIZES), 120).astype(int))
    return np.unique(np.concatenate([np.arange(min(DENSE_SIZES, count)), wide[wide < count], [count - 1]]))


def _taylor_step(sums: FloatArray) -> FloatArray:
    """Step of log(alpha) to the maximum of the Taylor series of L: Newton's, corrected by the higher terms."""
    _, first, second, third, fourth = sums
    newton = -first / second
    step = newton
    for _ in range(3):  # a fixed point that converges for the small steps it is meant for
        step = newton - (third / (2 * second) * step**2 + fourth / (6 * second) * step**3)
    return np.where(np.abs(newton) <= 10 * NEAR, step, newton)


def _taylor_gain(sums: FloatArray, step: FloatArray) -> FloatArray:
    """Rise of L along a step, to fourth order."""
    _, first, second, third, fourth = sums
    return step * (first + step * (second / 2 + step * (third / 6 + step * fourth / 24)))
