"""Small linear algebra shared by the competitors: plain arrays in, plain arrays out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

# A direction shorter than this share of its vector, once the earlier axes are taken out, is rounding.
_DEPENDENT = 1e-10


def compact_rows(X: FloatArray) -> FloatArray:
    """Return a matrix R with R'R = X'X and at most p rows.

    Every method here sees X only through X'X (and n), so n >> p costs one QR instead of n per iteration.
    """
    n_samples, n_features = X.shape
    if n_samples <= n_features:
        return X
    triangle: FloatArray = linalg.qr(X, mode="r", check_finite=False)[0][:n_features]
    return triangle


def leading_svd(X: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the first left vectors (n x d), singular values (d) and right vectors (d x p) of X."""
    left, values, right = linalg.svd(X, full_matrices=False, check_finite=False)
    return left[:, :n_components], values[:n_components], right[:n_components]


def row_norms(loadings: FloatArray) -> FloatArray:
    """Return the Euclidean norm of each row: the weight of each variable in a p x d loading matrix."""
    norms: FloatArray = np.sqrt(np.einsum("jk,jk->j", loadings, loadings))
    return norms


def polar_factor(matrix: FloatArray) -> FloatArray:
    """Return the orthonormal p x d matrix nearest to `matrix`: U W' of its thin SVD U D W'."""
    left, _, right = linalg.svd(matrix, full_matrices=False, check_finite=False)
    factor: FloatArray = left @ right
    return factor


def unit_columns(loadings: FloatArray) -> FloatArray:
    """Scale the columns to unit length; zero stays zero."""
    lengths = row_norms(loadings.T)
    return loadings / np.where(lengths > 0, lengths, 1.0)


def unit_axes(loadings: FloatArray) -> FloatArray:
    """Turn p x d loadings into d x p axes of unit length, largest entry positive; zero stays zero."""
    axes = unit_columns(loadings).T
    largest = np.argmax(np.abs(axes), axis=1)
    signs = np.where(axes[np.arange(axes.shape[0]), largest] < 0, -1.0, 1.0)
    oriented: FloatArray = axes * signs[:, np.newaxis] + 0.0  # no negative zeros
    return oriented


def principal_axes(X: FloatArray, support: BoolArray, n_components: int) -> FloatArray:
    """PCA of the columns in `support`, as d x p axes that are zero elsewhere.

    With fewer variables (or rows) than axes, the last axes are zero.
    """
    axes = np.zeros((n_components, X.shape[1]))
    if not support.any():
        return axes
    right = leading_svd(compact_rows(X[:, support]), n_components)[2]
    axes[: right.shape[0], support] = unit_axes(right.T)
    return axes


def adjusted_variances(X: FloatArray, axes: FloatArray) -> FloatArray:
    """Sum of squares each axis adds to those before it (Shen & Huang 2008).

    With V_k the first k axes, axis k gets ||X_k||^2 - ||X_(k-1)||^2 where X_k = X V_k (V_k'V_k)^-1 V_k' is X
    projected on their span. Gram-Schmidt gives the same increments as ||X q_k||^2: correlated or oblique axes
    are never paid twice, and for PCA these are the squared singular values.
    """
    basis = np.zeros_like(axes)
    for k, axis in enumerate(axes):
        rest = axis
        for _ in range(2):  # a second pass restores the orthogonality that the first loses to rounding
            rest = rest - basis[:k].T @ (basis[:k] @ rest)
        length = np.linalg.norm(rest)
        if length > _DEPENDENT * np.linalg.norm(axis):
            basis[k] = rest / length
    scores = X @ basis.T
    squares: FloatArray = np.einsum("ik,ik->k", scores, scores)
    return squares
