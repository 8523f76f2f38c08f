"""Thresholded PCA, variance ranking and plain PCA, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca.baselines import PlainPCA, ThresholdedPCA, VarianceRanking
from gsppca.baselines.variance import johnstone_lu_threshold


def pca_loadings(X, n_components):
    return np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:n_components].T


def test_thresholded_pca_drops_small_loadings(small):
    model = ThresholdedPCA(n_components=2, threshold=0.3).fit(small)
    loadings = pca_loadings(small, 2)
    survivors = np.abs(loadings) >= 0.3
    np.testing.assert_array_equal(model.components_ != 0, survivors.T)
    np.testing.assert_array_equal(model.support_, survivors.any(axis=1))
    expected = np.where(survivors, loadings, 0)
    np.testing.assert_allclose(
        np.abs(model.components_.T), np.abs(expected) / np.linalg.norm(expected, axis=0), atol=1e-12
    )


def test_thresholded_pca_in_standard_deviations(small):
    model = ThresholdedPCA(n_components=1, threshold=1.5, threshold_unit="std").fit(small)
    loadings = pca_loadings(small, 1)[:, 0]
    np.testing.assert_array_equal(model.support_, np.abs(loadings) >= 1.5 * loadings.std())


@pytest.mark.parametrize("n_components", [1, 3])
def test_thresholded_pca_ranks_by_the_first_axis(small, n_components):
    model = ThresholdedPCA(n_components=n_components, n_features_to_select=4).fit(small)
    first = np.abs(pca_loadings(small, 1)[:, 0])
    np.testing.assert_array_equal(model.path_.entry_order, np.argsort(-first))


def test_threshold_that_removes_nothing_is_pca(small):
    model = ThresholdedPCA(n_components=3, threshold=1e-12).fit(small)
    np.testing.assert_allclose(model.components_, PlainPCA(n_components=3).fit(small).components_, atol=1e-10)


def test_renormalised_axes_are_the_pca_of_the_support(small):
    own = ThresholdedPCA(n_components=2, n_features_to_select=5, axes="own").fit(small)
    renormalised = ThresholdedPCA(n_components=2, n_features_to_select=5, axes="pca").fit(small)
    np.testing.assert_array_equal(renormalised.support_, own.support_)
    np.testing.assert_allclose(renormalised.components_ @ renormalised.components_.T, np.eye(2), atol=1e-12)
    assert renormalised.explained_variance_.sum() > own.explained_variance_.sum()


def test_variance_rule_is_that_of_johnstone_and_lu(small):
    n_samples, n_features = small.shape
    variances = small.var(axis=0, ddof=1)
    largest = max(n_samples, n_features)
    threshold = np.median(variances) * (1 + np.sqrt(12 * np.log(largest) / n_samples))
    assert johnstone_lu_threshold(variances, n_samples) == pytest.approx(threshold)
    model = VarianceRanking().fit(small)
    np.testing.assert_array_equal(model.support_, variances > threshold)
    np.testing.assert_array_equal(model.path_.entry_order, np.argsort(-variances))


def test_variance_rule_is_blind_on_standardised_columns(small):
    standardised = (small - small.mean(axis=0)) / small.std(axis=0)
    model = VarianceRanking().fit(standardised)
    assert model.n_selected_ == 0
    assert not model.transform(standardised).any()


def test_variance_axes_are_the_pca_of_the_support(small):
    model = VarianceRanking(n_components=2, n_features_to_select=4).fit(small)
    kept = small[:, model.support_] - small[:, model.support_].mean(axis=0)
    top = np.linalg.svd(kept)[1][:2] ** 2 / (small.shape[0] - 1)
    np.testing.assert_allclose(model.explained_variance_, top)


def test_plain_pca_keeps_all_and_ranks_by_communality(small):
    assert PlainPCA(n_components=2).fit(small).support_.all()
    model = PlainPCA(n_components=2, n_features_to_select=3).fit(small)
    centred = small - small.mean(axis=0)
    axes = pca_loadings(small, 2)
    communality = np.sum((centred @ axes @ axes.T) ** 2, axis=0)
    np.testing.assert_array_equal(model.path_.entry_order, np.argsort(-communality))
