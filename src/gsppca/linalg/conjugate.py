"""Conjugate gradients for many small systems at once, each with a matrix of its own that is never formed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gsppca._typing import FloatArray

GOOD = 0.03  # share of the squared residual, all systems together, that may be left
MOST = 5  # steps: what is left after them is for the next call, which starts from there


def conjugate_gradients(
    x: FloatArray,
    residual: FloatArray,
    times: Callable[[FloatArray], FloatArray],
    preconditioned: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Improve solutions x_i of ``A_i x_i = b_i`` until little of the residual is left.

    Each step raises ``b_i' x_i - x_i' A_i x_i / 2``, for each i.

    Parameters
    ----------
    x, residual : ndarray of shape (n_systems, n_unknowns)
        Where to start, and ``b_i - A_i x_i``.
    times : callable
        The products ``A_i v_i``, in memory of their own; all A_i are positive definite.
    preconditioned : callable
        Products with approximate inverses, in memory of their own; in their norm residuals are measured.
    """
    direction = preconditioned(residual)
    squares = np.einsum("ia,ia->i", residual, direction)
    enough = GOOD * squares.sum()
    x, residual = x.copy(), residual.copy()
    for _ in range(MOST):
        image = times(direction)
        length = _ratio(squares, np.einsum("ia,ia->i", direction, image))
        x += length * direction
        residual -= np.multiply(length, image, out=image)
        steepest = preconditioned(residual)
        before, squares = squares, np.einsum("ia,ia->i", residual, steepest)
        if squares.sum() <= enough:
            break
        direction *= _ratio(squares, before)
        direction += steepest
    return x


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """A column of ratios; zero where nothing is left to gain."""
    positive = below > 0
    return np.where(positive, above / np.where(positive, below, 1.0), 0.0)[:, None]
