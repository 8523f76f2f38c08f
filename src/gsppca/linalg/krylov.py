"""Leading eigenpairs of ``Z'Z`` through products with blocks of axes: few passes over the data.

Block Lanczos iterations with a thick restart. Where we leave the textbook, and why:

1. Every product takes a block of axes, because a pass over data that is read from disk or from workers costs the same
   for one axis as for twenty. The passes needed fall with the gap between the last wanted eigenvalue and the one
   that lies a block further down.
2. The basis is kept orthogonal in full, by two rounds of Gram-Schmidt: it is small beside the data.
3. When the basis is full, the best directions found so far and the residual block replace it; nothing else is lost.
4. The pairs are accurate to rounding, so that the start, which is random, does not show.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gsppca._threads import one_blas_thread
from gsppca._typing import FloatArray

TOLERANCE = 1e-13  # of the residual of an eigenvector, relative to the largest eigenvalue
SMALL_RISE = 0.02  # of a value, relative to what it lacks to its level
FULL_BASIS = 12  # blocks
MAX_PASSES = 3000


def krylov_pairs(
    product: Callable[[FloatArray], FloatArray], n_features: int, n_axes: int, levels: FloatArray | None = None
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
    levels : ndarray of shape (n_axes,), optional
        The first pair that does not exceed its level is not wanted, nor those after it; all are by default.
    """
    width = min(block_width(n_axes), n_features)
    full = n_axes + FULL_BASIS * width
    following = _orthonormal(np.random.default_rng(0).standard_normal((width, n_features)))
    basis: FloatArray = np.empty((0, n_features))
    projected: FloatArray = np.empty((0, 0))
    before = np.zeros(n_axes)
    for _ in range(MAX_PASSES):
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
            if n_left == 0 or _settled(values[:n_axes], residuals[:n_axes], before, levels):
                count = _count_wanted(values[:n_axes], levels)
                return values[:count], vectors[:, :count].T @ basis
            before[: len(values)] = values[:n_axes]
            following = _next_block(images, basis, min(width, n_left))
            if len(basis) + width > full:
                kept = n_axes + width
                basis = vectors[:, :kept].T @ basis
                projected = np.diag(values[:kept])
    raise RuntimeError(f"The leading {n_axes} axes did not settle in {MAX_PASSES} passes. Ask for fewer components.")


def block_width(n_axes: int) -> int:
    """How many axes go through the data together."""
    return min(n_axes + 6, 24)


def _settled(values: FloatArray, residuals: FloatArray, before: FloatArray, levels: FloatArray | None) -> bool:
    """Whether all wanted pairs are accurate, and the next one is sure to stay below its level.

    The values rise from pass to pass, by less and less. The first one below its level stays there if its last rise is
    a small part of what it lacks; to wait until it is accurate would take many passes, inside the bulk of the noise.
    """
    if len(values) < len(before):
        return False
    count = _count_wanted(values, levels)
    if np.any(residuals[:count] > TOLERANCE * values[0]):
        return False
    if levels is None or count == len(values):
        return True
    return bool(values[count] - before[count] <= SMALL_RISE * (levels[count] - values[count]))


def _count_wanted(values: FloatArray, levels: FloatArray | None) -> int:
    if levels is None:
        return len(values)
    low = values <= levels
    return int(low.argmax()) if low.any() else len(values)


def _bordered(projected: FloatArray, rows: FloatArray) -> FloatArray:
    """Extend a symmetric matrix by the rows of a further block."""
    old, new = len(projected), len(rows)
    wide = np.empty((old + new, old + new))
    wide[:old, :old] = projected
    wide[old:, :old], wide[:old, old:] = rows[:, :old], rows[:, :old].T
    wide[old:, old:] = (rows[:, old:] + rows[:, old:].T) / 2
    return wide


def _next_block(images: FloatArray, basis: FloatArray, width: int) -> FloatArray:
    """Orthonormal rows that span the images, orthogonal to the basis also where the images vanish."""
    block = _orthonormal(images)[:width]
    for _ in range(2):
        block = _orthonormal(block - (block @ basis.T) @ basis)
    return block


def _orthonormal(rows: FloatArray) -> FloatArray:
    return np.ascontiguousarray(np.linalg.qr(rows.T)[0].T)
