"""Bayesian model averaging over the sizes of nested supports within Occam's window (section 2.6 of the paper).

Each size k has a posterior probability pi_k and a model of its own: PPCA on the first k variables of the ranking, and
noise on the rest; its axes are A_k, with variances L_k, and its covariance is C_k. Averaged over the sizes,

    covariance of a new row      sum_k pi_k C_k
    its reconstruction           sum_k pi_k A_k A_k' (x - mean)

An axis has no name across models: the signs, the order and the rotation of A_k may differ from size to size. Averaged
components are therefore the leading eigenvectors of sum_k pi_k A_k L_k A_k', which depends on none of them. The share
of a component, sum_k pi_k |A_k' a|^2, in [0, 1], says how much of the probability is on models that contain it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.components.axes import SupportAxes, principal_axes
from gsppca.data.base import Matrix
from gsppca.evidence.posterior import SizePosterior


@dataclass(frozen=True)
class AveragedModel:
    """Models of several sizes, and their probabilities.

    Attributes
    ----------
    sizes : ndarray of shape (n_models,)
        Sizes inside the window, zero for "no variable".
    probabilities : ndarray of shape (n_models,)
        Positive, summing to one.
    models : tuple of SupportAxes or None
        Axes, eigenvalues and residual variance of each; None for the size zero.
    inactive_variances : ndarray of shape (n_models,)
        Variance of the variables outside each support.
    order : ndarray of shape (n_features,)
        The ranking.
    components : ndarray of shape (n_axes, n_features)
        Averaged components, orthonormal; at most as many as the largest model has.
    explained_variance : ndarray of shape (n_axes,)
        Average variance along them, descending.
    shares : ndarray of shape (n_axes,)
        How much of the probability is on models that contain them.
    """

    sizes: IntArray
    probabilities: FloatArray
    models: tuple[SupportAxes | None, ...]
    inactive_variances: FloatArray
    order: IntArray
    components: FloatArray
    explained_variance: FloatArray
    shares: FloatArray

    def covariance(self) -> FloatArray:
        """Return the average covariance, of shape (n_features, n_features)."""
        p = len(self.order)
        total = np.zeros((p, p))
        for size, weight, model, noise in self._each():
            variances = np.full(p, noise)
            if model is not None:
                variances[self.order[:size]] = model.residual_variance
                scaled = model.components * (model.eigenvalues - model.residual_variance)[:, None]
                total += weight * (model.components.T @ scaled)
            total[np.diag_indices(p)] += weight * variances
        return total

    def project(self, rows: FloatArray) -> FloatArray:
        """Return the average reconstruction of centred rows, of shape (n_rows, n_features)."""
        total = np.zeros_like(rows, dtype=float)
        for _, weight, model, _ in self._each():
            if model is not None:
                total += weight * (rows @ model.components.T) @ model.components
        return total

    def _each(self) -> list[tuple[int, float, SupportAxes | None, float]]:
        numbers = zip(self.sizes.tolist(), self.probabilities.tolist(), strict=True)
        rest = zip(self.models, self.inactive_variances.tolist(), strict=True)
        return [(size, weight, model, noise) for (size, weight), (model, noise) in zip(numbers, rest, strict=True)]


def average_models(
    matrix: Matrix,
    order: IntArray,
    posterior: SizePosterior,
    n_components: int,
    inactive_variance: float | None = None,
) -> AveragedModel:
    """Average PPCA on nested supports over the posterior of their size.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    order : ndarray of shape (n_features,)
        Indices of the variables, the most relevant first.
    posterior : SizePosterior
        Probabilities of the sizes along `order`, as `evidence.posterior.size_posterior` gives them: temperature 1 for
        those of the paper, and a window (1/20) that leaves few sizes.
    n_components : int
        Dimension of the latent space; smaller supports have fewer axes.
    inactive_variance : float, optional
        Variance of the variables outside a support; for every size their mean square by default.
    """
    models: list[SupportAxes | None] = []
    noises: list[float] = []
    for size in posterior.sizes.tolist():
        support = np.zeros(matrix.n_features, dtype=bool)
        support[order[:size]] = True
        models.append(principal_axes(matrix, support, n_components) if size else None)
        squares = matrix.column_squares[~support]
        profile = float(squares.mean()) / matrix.n_samples if len(squares) else 0.0
        noises.append(profile if inactive_variance is None else inactive_variance)
    weighted = [(w, m) for w, m in zip(posterior.probabilities.tolist(), models, strict=True) if m is not None]
    components, variances = _average_axes(weighted, n_components, matrix.n_features)
    shares = sum((w * ((components @ m.components.T) ** 2).sum(axis=1) for w, m in weighted), np.zeros(len(components)))
    return AveragedModel(
        posterior.sizes,
        posterior.probabilities,
        tuple(models),
        np.array(noises),
        order,
        components,
        variances,
        np.minimum(shares, 1.0),
    )


def _average_axes(
    weighted: list[tuple[float, SupportAxes]], n_components: int, n_features: int
) -> tuple[FloatArray, FloatArray]:
    """Leading eigenpairs of ``sum_k pi_k A_k L_k A_k'``: the axes, stacked, with the roots of their weights."""
    if not weighted:
        return np.zeros((0, n_features)), np.zeros(0)
    stacked = np.vstack([np.sqrt(w * model.eigenvalues)[:, None] * model.components for w, model in weighted])
    used = stacked.any(axis=0)
    _, roots, inner = np.linalg.svd(stacked[:, used], full_matrices=False)
    kept = min(n_components, max(len(model.components) for _, model in weighted))
    axes = np.zeros((kept, n_features))
    axes[:, used] = inner[:kept]
    largest = axes[np.arange(kept), np.abs(axes).argmax(axis=1)]
    return axes * np.where(largest < 0, -1.0, 1.0)[:, None], roots[:kept] ** 2
