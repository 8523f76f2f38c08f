"""The distribution of the row norms at every support, compressed to a few weighted nodes.

The evidence of a support is a sum over rows, ``sum_i g(s_i)``, of functions g of the squared row norm s that are
smooth: ``g = log(x^|nu| K_nu(x))`` with ``x = alpha sqrt(s)``, and its derivatives. Between its extremes, g is a
polynomial to rounding, so that the sum depends on the norms only through their Chebyshev moments
``sum_i T_m(y_i)``, y the norm mapped to [-1, 1]. Equivalently it is a sum over Chebyshev nodes with weights made
of these moments. Two passes over the data, one for the extremes and one for the moments, serve all sizes and all
values of alpha; one pass does, if all rows come at once.

How many nodes: g has its nearest singularities at ``x = +-i nu``. In the variable s this is ``-c = -(nu/alpha)^2``, far
away when k is much larger than d; but at ``s = 0`` there is a term ``s^nu log s``, too weak to matter from order 12 on,
and the singularity of lower orders: c = 0. A polynomial of degree m errs by ``rho^-m``, rho the ellipse through the
singularity with foci -1 and 1 (Trefethen, Approximation Theory and Approximation Practice, chapter 8). In the variable
``log(s + c)`` all singularities are at distance pi from the real line, and the interval is the shorter, the larger c:
rho is larger than in s and in log s. It is taken where it saves more nodes than its logarithms cost; otherwise s.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.base import Matrix

DIGITS = 11  # rho^-m at which the sums are accurate to rounding, by measurement: 9 are enough for rows of most laws
# Numbers of nodes, even.
CLASSES = np.array([6, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128, 192, 256])
SMOOTH_ORDER = 12
LOGARITHM = 8  # nodes that cost as much as the logarithms of all rows
FEW = 2**10  # more nodes for some sizes cost less than a group of their own
SLAB = 2**14  # nodes handed out at a time: they and what is done with them fit the cache
_local = threading.local()


@dataclass(frozen=True)
class NodeGroup:
    """Sizes whose norms are represented by the same number of nodes.

    Attributes
    ----------
    positions : ndarray of shape (n_group,)
        Where these sizes stand among all sizes, ascending.
    squared : ndarray of shape (n_group, n_nodes)
        Squared norms of the nodes.
    weights : ndarray of shape (n_group, n_nodes)
        Their weights, of either sign; they sum to the number of rows.
    """

    positions: IntArray
    squared: FloatArray
    weights: FloatArray


@dataclass(frozen=True)
class Radii:
    """Compressed row norms.

    Attributes
    ----------
    log_sums : ndarray of shape (n_sizes,)
        Sums over the rows of the logarithms of the squared norms.
    moments : ndarray
        Chebyshev moments of all sizes, one size after the other.
    counts, shifts, centres, halves : ndarray of shape (n_sizes,)
        How many moments each size has; the shift c of their variable ``log(s + c)``, infinite where it is s itself;
        and the interval of the variable, see `intervals`.
    """

    log_sums: FloatArray
    moments: FloatArray
    counts: IntArray
    shifts: FloatArray
    centres: FloatArray
    halves: FloatArray

    def groups(self) -> Iterator[NodeGroup]:
        """Turn the moments into nodes and weights, some sizes with the same number of nodes at a time.

        A few sizes share the number of nodes of others.
        """
        starts = np.concatenate([[0], np.cumsum(self.counts)[:-1]])
        shared = self.counts.copy()
        for count, following in pairwise(np.unique(shared).tolist()):
            few = shared == count
            if np.count_nonzero(few) * (following - count) <= FEW:
                shared[few] = following
        for count in np.unique(shared).tolist():
            angles = np.pi * (np.arange(count) + 0.5) / count
            # The sum of the interpolant through y_j = cos(angle_j): weights (mu_0 + 2 sum_m mu_m T_m(y_j)) / M.
            cosines = np.cos(np.multiply.outer(np.arange(count), angles)) * (2 / count)
            cosines[0] /= 2
            everyone = np.flatnonzero(shared == count)
            for first in range(0, len(everyone), max(1, SLAB // count)):
                positions = everyone[first : first + max(1, SLAB // count)]
                # Moments that a size does not have meet coefficients that are nothing but rounding.
                known = np.arange(count) < self.counts[positions, None]
                moments = np.zeros(known.shape)
                moments[known] = self.moments[(starts[positions, None] + np.arange(count))[known]]
                squared = squared_at(
                    np.cos(angles), self.centres[positions], self.halves[positions], self.shifts[positions]
                )
                yield NodeGroup(positions, squared, moments @ cosines)


# From the smallest and largest squared norm of some sizes: how many nodes they need, and the shift of their variable.
Planner = Callable[[FloatArray, FloatArray, slice], tuple[IntArray, FloatArray]]


def compress_radii(
    matrix: Matrix,
    order: IntArray,
    sizes: IntArray,
    n_components: int,
    floors: FloatArray,
    stand_ins: FloatArray,
    planner: Planner | None = None,
) -> Radii:
    """Compress the row norms at the nested supports of a ranking.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    order, sizes : ndarray
        The ranking, and the sizes of the supports, ascending.
    n_components : int
        d, on which the smoothness of the evidence depends.
    floors, stand_ins : ndarray of shape (n_sizes,)
        A squared norm up to the floor of its size is replaced by the stand-in.
    planner : callable, optional
        Chooses the nodes, one of `CLASSES` for each size, for another function than the noiseless evidence.
    """
    log_sums, centres, halves, shifts = np.empty((4, len(sizes)))
    counts = np.empty(len(sizes), dtype=int)

    def extremes(squared: FloatArray, part: slice) -> FloatArray:
        lowest, highest = _raise_low(squared, floors[part], stand_ins[part]), squared.max(axis=1)
        return np.array([_log_sums(squared, lowest, highest), lowest, highest])

    def plan(found: FloatArray, part: slice) -> None:
        log_sums[part], lowest, highest = found
        if planner is None:
            geometric = np.exp(log_sums[part] / matrix.n_samples)
            counts[part], shifts[part] = _plan(sizes[part], n_components, lowest, highest, geometric)
        else:
            counts[part], shifts[part] = planner(lowest, highest, part)
        centres[part], halves[part] = intervals(lowest, highest, shifts[part])

    def moments(squared: FloatArray, part: slice) -> FloatArray:
        values = []
        for count, logs, rows in _runs(counts[part], np.isfinite(shifts[part])):
            y = squared[rows]
            if logs:
                y += shifts[part][rows, None]
                y *= 1 / centres[part][rows, None]
                np.log(y, out=y)
            else:
                y -= centres[part][rows, None]
            y *= 1 / halves[part][rows, None]
            values.append(_chebyshev_sums(y, count).ravel())
        return np.concatenate(values)

    def raised_moments(squared: FloatArray, part: slice) -> FloatArray:
        _raise_low(squared, floors[part], stand_ins[part])
        return moments(squared, part)

    def both(squared: FloatArray, part: slice) -> FloatArray:
        plan(extremes(squared, part), part)
        return moments(squared, part)

    if matrix.rows_come_together:
        flat = matrix.reduce_radii(both, order, sizes)
    else:
        plan(matrix.reduce_radii(extremes, order, sizes, _combine_extremes), slice(None))
        flat = matrix.reduce_radii(raised_moments, order, sizes)
    return Radii(log_sums, flat, counts, shifts, centres, halves)


def _raise_low(squared: FloatArray, floors: FloatArray, stand_ins: FloatArray) -> FloatArray:
    """Replace squared norms up to the floor of their size by its stand-in, in place; return the smallest ones left."""
    lowest = squared.min(axis=1)
    if (lowest <= floors).any():
        low = squared <= floors[:, None]
        np.copyto(squared, np.broadcast_to(stand_ins[:, None], squared.shape), where=low)
        lowest = squared.min(axis=1)
    return np.asarray(lowest)


def _log_sums(squared: FloatArray, lowest: FloatArray, highest: FloatArray) -> FloatArray:
    """Sums over the columns of the logarithms, eight columns multiplied at a time where no product can overflow."""
    if not (lowest > 1e-30 * highest).all():
        return np.asarray(np.log(squared, out=_buffers(squared.shape)[0]).sum(axis=1))
    n = squared.shape[1]
    unit = np.sqrt(lowest) * np.sqrt(highest)
    product = np.divide(squared, unit[:, None], out=_buffers(squared.shape)[0])
    left = np.zeros(len(squared))
    for _ in range(3):
        half = product.shape[1] // 2
        if product.shape[1] % 2:
            left += np.log(product[:, -1])
        product = np.multiply(product[:, :half], product[:, half : 2 * half], out=product[:, :half])
    return np.asarray(np.log(product, out=product).sum(axis=1) + left + n * np.log(unit))


def _combine_extremes(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.array([one[0] + other[0], np.minimum(one[1], other[1]), np.maximum(one[2], other[2])])


def _plan(
    sizes: IntArray, d: int, lowest: FloatArray, highest: FloatArray, geometric: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Number of nodes of each size, and the shift of its variable, given the geometric mean of its squared norms."""
    nu = np.abs(sizes - d) / 2
    # The best slab rate is at most sqrt(d k / geometric mean of s): w is convex in log s, and is d on average.
    singularity = np.where(nu >= SMOOTH_ORDER, nu**2 * geometric / (d * sizes), 0.0)
    width = np.maximum(highest - lowest, 1e-8 * highest)
    linear = _ellipse((highest + lowest + 2 * singularity) / width)
    # An imaginary distance b of the singular line, in half-widths: rho = b + sqrt(1 + b^2).
    b = 0.9 * np.pi / intervals(lowest, highest, singularity)[1]
    logarithmic = b + np.sqrt(1 + b * b)
    in_s, in_log = (2 + DIGITS * np.log(10) / np.log(rho) for rho in (linear, logarithmic))
    logs = in_log + LOGARITHM < in_s
    classes = np.searchsorted(CLASSES, np.where(logs, in_log, in_s))
    return CLASSES[np.minimum(classes, len(CLASSES) - 1)], np.where(logs, singularity, np.inf)


def _ellipse(z: FloatArray) -> FloatArray:
    """Sum of the half-axes of the ellipse with foci -1 and 1 through the real point z >= 1."""
    return z + np.sqrt(np.maximum(z * z - 1, 0.0))


def intervals(lowest: FloatArray, highest: FloatArray, shifts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Interval of the variable, not empty: ``s = centre + half y`` or ``s + shift = centre exp(half y)``, |y| <= 1."""
    logs = np.isfinite(shifts)
    shift = np.where(logs, shifts, 0.0)
    low, high = np.sqrt(lowest + shift), np.sqrt(highest + shift)  # their product does not overflow
    centres = np.where(logs, low * high, (lowest + highest) / 2)
    halves = np.where(logs, np.maximum(np.log(high / low), 1e-8), np.maximum((highest - lowest) / 2, 1e-8 * highest))
    return centres, halves


def squared_at(y: FloatArray, centres: FloatArray, halves: FloatArray, shifts: FloatArray) -> FloatArray:
    """Squared norms, shape (n_sizes, n_nodes), at some places y between -1 and 1 of the intervals of all sizes."""
    squared = halves[:, None] * y
    logs = np.isfinite(shifts)
    shift = shifts[logs, None]
    values = np.exp(squared[logs]) * centres[logs, None] - shift
    squared += centres[:, None]
    # What is smaller is the rounding of the shift, beside which it is zero.
    squared[logs] = np.maximum(values, np.finfo(float).eps * shift)
    return squared


def _runs(counts: IntArray, in_logs: BoolArray) -> Iterator[tuple[int, bool, slice]]:
    """Stretches of consecutive sizes with the same number of nodes and variable."""
    change = np.flatnonzero((np.diff(counts) != 0) | (np.diff(in_logs) != 0)) + 1
    edges = [0, *change.tolist(), len(counts)]
    for first, last in pairwise(edges):
        yield int(counts[first]), bool(in_logs[first]), slice(first, last)


def _chebyshev_sums(y: FloatArray, count: int) -> FloatArray:
    """Sums over the columns of y, within [-1, 1], of T_0 ... T_{count-1}; shape (n_rows, count), count even.

    ``T_2m = 2 T_m^2 - 1`` and ``T_{2m+1} = 2 T_m T_{m+1} - T_1``: only half of the polynomials are formed.
    """
    n_rows, n = y.shape
    sums = np.empty((n_rows, count))
    twice, *spare = _buffers(y.shape)
    np.add(y, y, out=twice)
    before: FloatArray | float = 1.0
    current = y
    memory = (y, *spare)
    sums[:, 0], sums[:, 1] = n, y.sum(axis=1)
    for m in range(1, count // 2):
        following = np.multiply(twice, current, out=memory[m % 3])
        following -= before
        before, current = current, following  # T_m and T_{m+1}
        sums[:, 2 * m] = 2 * _inner(before, before) - n
        sums[:, 2 * m + 1] = 2 * _inner(before, current) - sums[:, 1]
    return sums


def _inner(a: FloatArray, b: FloatArray) -> FloatArray:
    """Inner products of the rows of two arrays: by BLAS, in half the time of einsum."""
    return np.matmul(a[:, None, :], b[:, :, None])[:, 0, 0]


def _buffers(shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Three arrays of this thread: fresh memory for every block would cost more than filling it."""
    size = 3 * shape[0] * shape[1]
    if getattr(_local, "buffer", np.empty(0)).size < size:
        _local.buffer = np.empty(size)
    held: npt.NDArray[np.float64] = _local.buffer[:size]
    return held.reshape(3, *shape)
