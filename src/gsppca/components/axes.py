"""Principal component analysis on the selected variables: the end of the line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gsppca._typing import BoolArray, FloatArray
from gsppca.data.base import Matrix
from gsppca.linalg.spectrum import leading_spectrum


@dataclass(frozen=True)
class SupportAxes:
    """Principal axes of the selected variables.

    Attributes
    ----------
    components : ndarray of shape (n_axes, n_features)
        Orthonormal rows, zero outside the support.
    eigenvalues : ndarray of shape (n_axes,)
        Of ``Z_v'Z_v / n``, descending.
    residual_variance : float
        Mean of the remaining eigenvalues on the support; zero when there is none.
    """

    components: FloatArray
    eigenvalues: FloatArray
    residual_variance: float


def principal_axes(matrix: Matrix, support: BoolArray, n_components: int) -> SupportAxes:
    """Return the leading principal axes of the selected columns; at most as many as there are columns or rows."""
    size = int(support.sum())
    n_axes = min(n_components, size, matrix.n_samples - 1)
    selected = matrix if size == matrix.n_features else matrix.columns(support)
    spectrum = leading_spectrum(selected, n_axes)
    components = np.zeros((n_axes, matrix.n_features))
    components[:, support] = _fixed_signs(spectrum.axes, selected)
    variance = float(matrix.column_squares[support].sum()) / matrix.n_samples
    rest = max(variance - float(spectrum.eigenvalues.sum()), 0.0)
    return SupportAxes(components, spectrum.eigenvalues, rest / (size - n_axes) if size > n_axes else 0.0)


def _fixed_signs(axes: FloatArray, matrix: Matrix) -> FloatArray:
    """Make the loading of largest absolute value positive on every axis.

    Loadings that tie within rounding decide by the sign of their sum; if that vanishes too, as for the contrast of two
    variables, the scores do: their third moment is made positive. So neither rounding nor the order of columns decides,
    unless the data is symmetric.
    """
    size = np.abs(axes)
    large = size >= (1 - 1e-6) * size.max(axis=1, keepdims=True)
    sums = np.where(large, axes, 0.0).sum(axis=1)
    unclear = np.abs(sums) <= 1e-3 * size.max(axis=1)
    if unclear.any():
        scores = matrix.product(axes[unclear])
        third, scale = (scores**3).sum(axis=0), (np.abs(scores) ** 3).sum(axis=0)
        first = axes[unclear, large[unclear].argmax(axis=1)]
        sums[unclear] = np.where(np.abs(third) > 1e-9 * scale, third, first)
    return axes * np.where(sums < 0, -1.0, 1.0)[:, None]
