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

from gsppca._blas import one_blas_thread
from gsppca._typing import FloatArray

TOLERANCE = 1e-13  # of the residual of an eigenvector, relative to the largest eigenvalue
FULL_BASIS = 12  # blocks
MAX_PASSES = 3000


def krylov_pairs(
    product: Callable[[FloatArray], FloatArray], n_features: int, n_axes: int, level: float = 0.0
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
    level : float, default=0.0
        Pairs at or below this eigenvalue are not wanted, and left out.
    """
    width = min(block_width(n_axes), n_features)
    full = n_axes + FULL_BASIS * width
    following = _orthonormal(np.random.default_rng(0).standard_normal((width, n_features)))
    basis: FloatArray = np.empty((0, n_features))
    projected: FloatArray = np.empty((0, 0))
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
            if n_left == 0 or _settled(values[:n_axes], residuals[:n_axes], level, n_axes):
                wanted = values[:n_axes] > level if level > 0 else slice(None)
                axes = vectors[:, :n_axes].T @ basis
                return values[:n_axes][wanted], axes[wanted]
            following = _next_block(images, basis, min(width, n_left))
            if len(basis) + width > full:
                kept = n_axes + width
                basis = vectors[:, :kept].T @ basis
                projected = np.diag(values[:kept])
    raise RuntimeError(f"The leading {n_axes} axes did not settle in {MAX_PASSES} passes. Ask for fewer components.")


def block_width(n_axes: int) -> int:
    """How many axes go through the data together."""
    return min(n_axes + 6, 24)


def _settled(values: FloatArray, residuals: FloatArray, level: float, n_axes: int) -> bool:
    """Whether all wanted pairs are accurate, and the others surely not wanted."""
    if len(values) < n_axes:
        return False
    accurate = residuals <= TOLERANCE * values[0]
    return bool(np.all(accurate | (values + residuals <= level)))


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
