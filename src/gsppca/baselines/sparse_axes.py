"""The alternation of SPCA (Zou, Hastie & Tibshirani 2006): sparse axes by the elastic net.

    min over A, B:  ||X - X B A'||^2 + ridge ||B||^2 + sum_k penalty_k ||b_k||_1,   A'A = I     (S1)

    B given A:  one elastic net per axis, of X a_k on X  (elastic_net.py, (E1) to (E3))         (S2)
    A given B:  U W' from the SVD X'X B = U D W'  (their Theorem 4)                              (S3)

With penalties zero and a positive ridge (or p < n), the columns of B are proportional to the axes of PCA.

Where this leaves the authors:

1. In (S3) a rank-deficient X'X B leaves part of A free; the part nearest to the previous A is taken.
2. The alternation stops on the change of the unit-length loadings, after the regression: (S2) holds exactly
   for the basis reported.
3. With fixed numbers of non-zero loadings the penalties change from round to round, so that no criterion
   descends and the rounds may cycle. They end when the explained variance (Shen & Huang) has not risen for 20
   rounds, and the round that explained most is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from gsppca.baselines.elastic_net import Sparsity, elastic_net, soft_threshold
from gsppca.baselines.linalg import (
    FloatArray,
    adjusted_variances,
    leading_svd,
    polar_factor,
    row_norms,
    unit_axes,
    unit_columns,
)

_NEARLY_ZERO = 1e-10  # weight of the previous A in (S3), relative to X'X B
_PATIENCE = 20
_IMPROVEMENT = 1e-6  # relative rise of the explained variance that counts


@dataclass(frozen=True)
class SparseAxes:
    """A solution of (S1).

    Parameters
    ----------
    loadings : ndarray of shape (n_features, n_components)
        B, not normalised.
    basis : ndarray of shape (n_features, n_components)
        A, orthonormal; the one that `loadings` were regressed on.
    penalties : ndarray of shape (n_components,)
        Penalty of each axis, as asked or as the number of non-zero loadings implied.
    ridge : float
        Ridge used.
    score_norms : ndarray of shape (n_components,)
        ||X b_k|| / ||b_k||: the weight of each axis.
    n_iter : int
        Alternations.
    converged : bool
        Whether the unit-length loadings moved by less than the tolerance, or departure 3 ended the rounds.
    """

    loadings: FloatArray
    basis: FloatArray
    penalties: FloatArray
    ridge: float
    score_norms: FloatArray
    n_iter: int
    converged: bool

    @property
    def axes(self) -> FloatArray:
        """Loadings scaled to unit length, one axis per row."""
        return unit_axes(self.loadings)

    @property
    def strength(self) -> FloatArray:
        """Weight of each variable: norm over the axes of loading times score norm; zero off all axes."""
        return row_norms(self.axes.T * self.score_norms)


def sparse_axes(
    X: FloatArray,
    sparsities: Sequence[Sparsity],
    ridge: float,
    max_iter: int = 1000,
    tol: float = 1e-4,
    start: FloatArray | None = None,
) -> SparseAxes:
    """Solve (S1) by alternation; one entry of `sparsities` per axis.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centred data, or any root of a Gram matrix.
    sparsities : sequence of Sparsity
        Number of non-zero loadings, or penalty, of each axis.
    ridge : float
        Ridge of (S1), 0 to infinity.
    max_iter : int, default=1000
        Most alternations.
    tol : float, default=1e-4
        Largest distance that a unit-length axis moves in the last round.
    start : ndarray of shape (n_features, n_components), optional
        First A; the axes of PCA by default.

    Returns
    -------
    axes : SparseAxes
        Loadings, basis, penalties.
    """
    regress = _regression_step(X, ridge)
    counted = any(sparsity.nonzeros is not None for sparsity in sparsities)
    basis = leading_svd(X, len(sparsities))[2].T if start is None else start
    directions = np.zeros_like(basis)
    best, best_variance, stalled = None, -np.inf, 0
    for n_iter in range(1, max_iter + 1):
        steps = [regress(c, sparsity) for c, sparsity in zip((X.T @ (X @ basis)).T, sparsities, strict=True)]
        loadings = np.column_stack([b for b, _ in steps])
        penalties = np.array([penalty for _, penalty in steps])
        previous, directions = directions, unit_columns(loadings)
        scores = X @ directions
        converged = bool(np.max(row_norms((directions - previous).T)) <= tol)
        current = SparseAxes(loadings, basis, penalties, ridge, row_norms(scores.T), n_iter, converged)
        if converged or not counted:
            best = current
        else:  # departure 3
            variance = float(adjusted_variances(X, directions.T).sum())
            stalled = 0 if variance > best_variance * (1 + _IMPROVEMENT) else stalled + 1
            if stalled == 0:
                best, best_variance = current, variance
        if converged or stalled == _PATIENCE:
            break
        basis = _procrustes(X.T @ (X @ loadings), basis)
    assert best is not None  # max_iter >= 1
    return replace(best, n_iter=n_iter, converged=converged or stalled == _PATIENCE)


def _regression_step(X: FloatArray, ridge: float) -> Callable[[FloatArray, Sparsity], tuple[FloatArray, float]]:
    if np.isinf(ridge):
        return soft_threshold
    ridged_gram = X.T @ X + ridge * np.eye(X.shape[1])
    return lambda c, sparsity: elastic_net(c, ridged_gram, sparsity)


def _procrustes(product: FloatArray, previous: FloatArray) -> FloatArray:
    weight = _NEARLY_ZERO * np.linalg.norm(product)
    return polar_factor(product + weight * previous) if weight > 0 else previous


def spca_from_gram(
    gram: ArrayLike,
    *,
    n_nonzero: Sequence[int] | None = None,
    penalty: Sequence[float] | None = None,
    ridge: float = 0.0,
    max_iter: int = 1000,
    tol: float = 1e-4,
) -> SparseAxes:
    """SPCA of a covariance, correlation or Gram matrix; give `n_nonzero` or `penalty`, one per axis.

    Parameters
    ----------
    gram : array-like of shape (n_features, n_features)
        Positive semi-definite X'X, in whichever units the penalties shall have.
    n_nonzero : sequence of int, optional
        Number of non-zero loadings of each axis.
    penalty : sequence of float, optional
        Penalty of each axis.
    ridge : float, default=0.0
        Ridge; infinity is allowed.
    max_iter, tol : int, float
        See `sparse_axes`.

    Returns
    -------
    axes : SparseAxes
        Loadings (not normalised), basis, penalties.

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca.baselines import spca_from_gram
    >>> gram = np.array([[2.0, 1.8, 0.1], [1.8, 2.0, 0.2], [0.1, 0.2, 1.0]])
    >>> np.count_nonzero(spca_from_gram(gram, n_nonzero=[2, 1]).loadings, axis=0)
    array([2, 1])
    """
    if (n_nonzero is None) == (penalty is None):
        raise ValueError(f"n_nonzero={n_nonzero!r}, penalty={penalty!r}: give exactly one of them, one value per axis.")
    gram = np.asarray(gram, dtype=np.float64)
    values, vectors = np.linalg.eigh(gram)
    if values[0] < -1e-8 * abs(values[-1]):
        raise ValueError(f"gram: must be positive semi-definite, got an eigenvalue {values[0]:.3g}; pass X'X.")
    root = np.sqrt(np.maximum(values, 0.0))[:, np.newaxis] * vectors.T
    wanted = [Sparsity(k) for k in n_nonzero] if n_nonzero is not None else [Sparsity(None, x) for x in penalty or ()]
    return sparse_axes(root, wanted, ridge, max_iter, tol)
