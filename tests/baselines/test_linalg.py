"""The linear algebra behind the competitors, against literal formulas."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from gsppca.baselines import PlainPCA
from gsppca.baselines.linalg import adjusted_variances, compact_rows, polar_factor, principal_axes, unit_axes


def shen_huang_literal(X, axes):
    """||X_k||^2 with X_k = X V_k (V_k'V_k)^-1 V_k', then differences."""
    explained = [0.0]
    for k in range(1, axes.shape[0] + 1):
        V = axes[:k].T
        explained.append(np.sum((X @ V @ np.linalg.pinv(V.T @ V) @ V.T) ** 2))
    return np.diff(explained)


def test_adjusted_variance_is_that_of_shen_and_huang(centred):
    axes = np.random.default_rng(0).normal(size=(4, centred.shape[1]))
    np.testing.assert_allclose(adjusted_variances(centred, axes), shen_huang_literal(centred, axes), rtol=1e-9)


def test_adjusted_variance_does_not_pay_twice(centred):
    axes = np.random.default_rng(0).normal(size=(5, centred.shape[1]))
    axes[1], axes[2] = 0.0, -2 * axes[0]  # an empty axis and a repeated one
    np.testing.assert_allclose(adjusted_variances(centred, axes), shen_huang_literal(centred, axes), atol=1e-8)
    np.testing.assert_array_equal(adjusted_variances(centred, axes)[1:3], 0.0)


def test_adjusted_variance_of_pca_is_its_explained_variance(small):
    ours, theirs = PlainPCA(n_components=4).fit(small), PCA(n_components=4).fit(small)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_)
    np.testing.assert_allclose(np.abs(ours.components_), np.abs(theirs.components_), atol=1e-10)


def test_compact_rows_keep_the_gram_matrix(centred):
    rows = compact_rows(centred)
    assert rows.shape[0] <= centred.shape[1]
    np.testing.assert_allclose(rows.T @ rows, centred.T @ centred, atol=1e-10)


def test_polar_factor_is_the_nearest_orthonormal_matrix():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(7, 3))
    nearest = polar_factor(matrix)
    np.testing.assert_allclose(nearest.T @ nearest, np.eye(3), atol=1e-12)
    for _ in range(50):
        other = np.linalg.qr(nearest + 0.1 * rng.normal(size=(7, 3)))[0] @ np.diag(rng.choice([-1, 1], 3))
        assert np.linalg.norm(matrix - nearest) <= np.linalg.norm(matrix - other)


def test_unit_axes_have_unit_length_and_a_fixed_sign():
    loadings = np.array([[3.0, 0.0, 1.0], [-4.0, 0.0, 0.0]])
    np.testing.assert_allclose(unit_axes(loadings), [[-0.6, 0.8], [0.0, 0.0], [1.0, 0.0]])


@pytest.mark.parametrize("size", [0, 1, 5])
def test_principal_axes_live_on_the_support(centred, size):
    support = np.zeros(centred.shape[1], dtype=bool)
    support[2 : 2 + size] = True
    axes = principal_axes(centred, support, 3)
    assert not axes[:, ~support].any()
    np.testing.assert_allclose(axes @ axes.T, np.diag(np.arange(3) < size), atol=1e-12)
    if size:
        top = np.linalg.svd(centred[:, support])[1][:3] ** 2
        np.testing.assert_allclose(adjusted_variances(centred, axes).sum(), top.sum())
