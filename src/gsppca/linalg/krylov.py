"""Leading eigenpairs of ``Z'Z`` through products with blocks of axes: few passes over the data.

Block Lanczos iterations with a thick restart. Where we leave the textbook, and why:

1. Every product takes a block of axes, because a pass over data that is read from disk or from workers costs the same
   for one axis as for twenty. The passes needed fall with the gap between the last wanted eigenvalue and the one
   that lies a block further down.
2. The basis is kept orthogonal in full, by two rounds of Gram-Schmidt: it is small beside the data.
3. When the basis is full, the best directions found so far and the residual block replace it; nothing else is lost.
4. The pairs are accurate to rounding, so that the start does not show; unless they are only to be counted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gsppca._threads import one_blas_thread
from gsppca._typing import FloatArray

TOLERANCE = 1e-13  # of the residual of an eigenvector, relative to the largest eigenvalue
SMALL_RISE = 0.3  # of a value, relative to what it lacks to its level
FULL_BASIS = 12  # blocks
FEWEST_PASSES, MAX_PASSES = 3, 3000


def krylov_pairs(
    product: Callable[[FloatArray], FloatArray],
    n_features: int,
    n_axes: int,
    levels: FloatArray | None = None,
    start: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of a positive semi-definite operator, descending, and the eigenvectors as rows.

    Parameters
    ----------
    product : callable
        From axes (n, n_features) to their products with the operator.
    n_features : int
        Order of the operator.
    n_axes : int
        How many pairs are wanted.
    levels : ndarray of shape (n_axes,), descending, optional
        If given, it is enough to know how many values exceed their levels up to the first that does not. Values are
        never too large, and so this takes far fewer passes than accurate pairs; some may then be left out at the end.
    start : ndarray of shape (n_start, n_features), optional
        Axes to begin with; random ones by default.
    """
    width = min(block_width(n_axes), n_features)
    full = n_axes + FULL_BASIS * width
    if start is None or len(start) < width:
        more = np.random.default_rng(0).standard_normal((width, n_features))
        start = more if start is None else np.concatenate([start, more[len(start) :]])
    following = _orthonormal(start[:width])
    basis: FloatArray = np.empty((0, n_features))
    projected: FloatArray = np.empty((0, 0))
    before = np.zeros(n_axes)
    for number in range(1, MAX_PASSES + 1):
        block = following
        images = product(block)
        with one_blas_thread():
            basis = np.concatenate([basis, block])
            rows = images @ basis.T
            projected = _bordered(projected, rows)
            values, vectors = np.linalg.eigh(projected)
            values, vectors = values[::-1], vectors[:, ::-1]
            images -= rows @ basis
            images -= (images @ basis.T) @ basis
            # The residuals of all pairs lie in the span of these images.
            triangle = np.asarray(np.linalg.qr(images.T, mode="r"))
            residuals = np.linalg.norm(triangle @ vectors[-len(block) :], axis=0)
            n_left = n_features - len(basis)
            if levels is None:
                settled = len(values) >= n_axes and bool((residuals[:n_axes] <= TOLERANCE * values[0]).all())
            else:
                settled = number >= FEWEST_PASSES and _counted(values[:n_axes], before, levels)
            if n_left == 0 or settled:
                return values[:n_axes], vectors[:, :n_axes].T @ basis
            before[: len(values)] = values[:n_axes]
            following = next_block(images, basis, min(width, n_left))
            if len(basis) + width > full:
                kept = n_axes + width
                basis = vectors[:, :kept].T @ basis
                projected = np.diag(values[:kept])
    raise RuntimeError(f"The leading {n_axes} axes did not settle in {MAX_PASSES} passes. Ask for fewer components.")


def block_width(n_axes: int) -> int:
    """How many axes go through the data together."""
    return min(n_axes + 6, 24)


def _counted(values: FloatArray, before: FloatArray, levels: FloatArray) -> bool:
    """Whether the first value below its level is sure to stay there: its last rise is a small part of what it lacks.

    Values rise from pass to pass, by less and less. To wait until such a one is accurate would take many passes, inside
    the bulk of the noise.
    """
    low = values <= levels[: len(values)]
    if not low.any():
        return len(values) == len(levels)
    first = int(low.argmax())
    return bool(values[first] - before[first] <= SMALL_RISE * (levels[first] - values[first]))


def _bordered(projected: FloatArray, rows: FloatArray) -> FloatArray:
    """Extend a symmetric matrix by the rows of a further block."""
    old, new = len(projected), len(rows)
    wide = np.empty((old + new, old + new))
    wide[:old, :old] = projected
    wide[old:, :old], wide[:old, old:] = rows[:, :old], rows[:, :old].T
    wide[old:, old:] = (rows[:, old:] + rows[:, old:].T) / 2
    return wide


def next_block(images: FloatArray, basis: FloatArray, width: int) -> FloatArray:
    """Orthonormal rows that span the images, orthogonal to the basis also where the images vanish."""
    block = _orthonormal(images)[:width]
    for _ in range(2):
        block = _orthonormal(block - (block @ basis.T) @ basis)
    return block


def _orthonormal(rows: FloatArray) -> FloatArray:
    return np.ascontiguousarray(np.linalg.qr(rows.T)[0].T)
