"""The distribution of the row norms at every support, compressed to a few weighted nodes.

The evidence of a support is a sum over rows, ``sum_i g(s_i)``, of functions g of the squared row norm s that are
smooth: ``g = log(x^|nu| K_nu(x))`` with ``x = alpha sqrt(s)``, and its derivatives. Between its extremes, g is a
polynomial to rounding, so that the sum depends on the norms only through their Chebyshev moments
``sum_i T_m(y_i)``, y the norm mapped to [-1, 1]. Equivalently it is a sum over Chebyshev nodes with weights made
of these moments. Two passes over the data, one for the extremes and one for the moments, serve all sizes and all
values of alpha; one pass does, if all rows come at once.

How many nodes: g has its nearest singularities at ``x = +-i nu``. In the variable s this is ``-(nu/alpha)^2``, far away
when k is much larger than d; but at ``s = 0`` there is a term ``s^nu log s``, too weak to matter from order 8 on, and
the singularity of lower orders. In the variable log s it is the line at distance pi, whatever the order. The better of
the two is taken for each size; a polynomial of degree m then errs by ``rho^-m``, rho the ellipse through the
singularity with foci -1 and 1 (Trefethen, Approximation Theory and Approximation Practice, chapter 8).
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

DIGITS = 17  # of the polynomials, for values of g up to a few hundred
CLASSES = np.array([8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256])  # numbers of nodes
SMOOTH_ORDER = 8
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
    counts, in_logs, centres, halves : ndarray of shape (n_sizes,)
        How many moments each size has, whether their variable is the logarithm, and the centre and half-width of
        its interval.
    """

    log_sums: FloatArray
    moments: FloatArray
    counts: IntArray
    in_logs: BoolArray
    centres: FloatArray
    halves: FloatArray

    def groups(self) -> Iterator[NodeGroup]:
        """Turn the moments into nodes and weights, some sizes with the same number of nodes at a time."""
        starts = np.concatenate([[0], np.cumsum(self.counts)[:-1]])
        for count in np.unique(self.counts).tolist():
            angles = np.pi * (np.arange(count) + 0.5) / count
            # The sum of the interpolant through y_j = cos(angle_j): weights (mu_0 + 2 sum_m mu_m T_m(y_j)) / M.
            cosines = np.cos(np.multiply.outer(np.arange(count), angles)) * (2 / count)
            cosines[0] /= 2
            everyone = np.flatnonzero(self.counts == count)
            for first in range(0, len(everyone), max(1, SLAB // count)):
                positions = everyone[first : first + max(1, SLAB // count)]
                moments = self.moments[starts[positions, None] + np.arange(count)]
                squared = self.centres[positions, None] + self.halves[positions, None] * np.cos(angles)
                logs = self.in_logs[positions]
                squared[logs] = np.exp(squared[logs])
                yield NodeGroup(positions, squared, moments @ cosines)


# From the smallest and largest squared norm of some sizes: how many nodes they need, and whether in the logarithm.
Planner = Callable[[FloatArray, FloatArray, slice], tuple[IntArray, BoolArray]]


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
    mean_squares = np.cumsum(matrix.column_squares[order])[sizes - 1] / matrix.n_samples
    log_sums, centres, halves = np.empty((3, len(sizes)))
    counts, in_logs = np.empty(len(sizes), dtype=int), np.empty(len(sizes), dtype=bool)

    def extremes(squared: FloatArray, part: slice) -> FloatArray:
        _raise_low(squared, floors[part], stand_ins[part])
        lowest, highest = squared.min(axis=1), squared.max(axis=1)
        logarithms = np.log(squared, out=_buffers(squared.shape)[0])
        return np.array([logarithms.sum(axis=1), lowest, highest])

    def plan(found: FloatArray, part: slice) -> None:
        log_sums[part], lowest, highest = found
        if planner is None:
            counts[part], in_logs[part] = _plan(sizes[part], n_components, lowest, highest, mean_squares[part])
        else:
            counts[part], in_logs[part] = planner(lowest, highest, part)
        centres[part], halves[part] = intervals(lowest, highest, in_logs[part])

    def moments(squared: FloatArray, part: slice) -> FloatArray:
        _raise_low(squared, floors[part], stand_ins[part])
        values = []
        for count, logs, rows in _runs(counts[part], in_logs[part]):
            y = squared[rows]
            if logs:
                np.log(y, out=y)
            y -= centres[part][rows, None]
            y /= halves[part][rows, None]
            values.append(_chebyshev_sums(y, count).ravel())
        return np.concatenate(values)

    def both(squared: FloatArray, part: slice) -> FloatArray:
        plan(extremes(squared, part), part)
        return moments(squared, part)

    if matrix.rows_come_together:
        flat = matrix.reduce_radii(both, order, sizes)
    else:
        plan(matrix.reduce_radii(extremes, order, sizes, _combine_extremes), slice(None))
        flat = matrix.reduce_radii(moments, order, sizes)
    return Radii(log_sums, flat, counts, in_logs, centres, halves)


def _raise_low(squared: FloatArray, floors: FloatArray, stand_ins: FloatArray) -> None:
    """Replace squared norms up to the floor of their size by its stand-in, in place."""
    low = squared <= floors[:, None]
    if low.any():
        np.copyto(squared, np.broadcast_to(stand_ins[:, None], squared.shape), where=low)


def _combine_extremes(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.array([one[0] + other[0], np.minimum(one[1], other[1]), np.maximum(one[2], other[2])])


def _plan(
    sizes: IntArray, d: int, lowest: FloatArray, highest: FloatArray, mean_squares: FloatArray
) -> tuple[IntArray, BoolArray]:
    """Number of nodes of each size, and whether its variable is log s."""
    nu = np.abs(sizes - d) / 2
    # The slab rate is about sqrt(d k / mean s); a quarter allows for twice as much.
    singularity = np.where(nu >= SMOOTH_ORDER, 0.25 * nu**2 * mean_squares / (d * sizes), 0.0)
    width = np.maximum(highest - lowest, 1e-8 * highest)
    linear = _ellipse((highest + lowest + 2 * singularity) / width)
    half_log = np.maximum(0.5 * np.log(highest / lowest), 1e-8)
    # An imaginary distance b of the singular line, in half-widths: rho = b + sqrt(1 + b^2).
    b = 0.9 * np.pi / half_log
    logarithmic = b + np.sqrt(1 + b * b)
    in_logs = logarithmic > linear
    needed = 2 + DIGITS * np.log(10) / np.log(np.maximum(linear, logarithmic))
    return CLASSES[np.minimum(np.searchsorted(CLASSES, needed), len(CLASSES) - 1)], in_logs


def _ellipse(z: FloatArray) -> FloatArray:
    """Sum of the half-axes of the ellipse with foci -1 and 1 through the real point z >= 1."""
    return z + np.sqrt(np.maximum(z * z - 1, 0.0))


def intervals(lowest: FloatArray, highest: FloatArray, in_logs: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Centre and half-width of the interval of the variable; never empty."""
    low, high = (np.where(in_logs, np.log(value), value) for value in (lowest, highest))
    least = np.where(in_logs, 1e-8, 1e-8 * highest)
    return (low + high) / 2, np.maximum((high - low) / 2, least)


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
    twice, before, current = _buffers(y.shape)
    np.add(y, y, out=twice)
    before.fill(1.0)
    np.copyto(current, y)
    sums[:, 0], sums[:, 1] = n, y.sum(axis=1)
    for m in range(1, count // 2):
        before *= -1
        before += np.multiply(twice, current, out=y)
        before, current = current, before  # T_m and T_{m+1}
        sums[:, 2 * m] = 2 * np.einsum("ij,ij->i", before, before) - n
        sums[:, 2 * m + 1] = 2 * np.einsum("ij,ij->i", before, current) - sums[:, 1]
    return sums


def _buffers(shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Three arrays of this thread: fresh memory for every block would cost more than filling it."""
    size = 3 * shape[0] * shape[1]
    if getattr(_local, "buffer", np.empty(0)).size < size:
        _local.buffer = np.empty(size)
    held: npt.NDArray[np.float64] = _local.buffer[:size]
    return held.reshape(3, *shape)
