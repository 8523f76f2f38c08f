"""Averages over models, against sums written out in full."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca import evidence_path
from gsppca.components.averaging import average_models
from gsppca.data import as_matrix
from gsppca.evidence.posterior import SizePosterior, size_posterior


def ppca_covariance(X, support, d, noise):
    """Covariance of PPCA on a support by a full eigendecomposition, noise elsewhere."""
    X = X - X.mean(axis=0)
    covariance = np.diag(np.where(support, 0.0, noise))
    if support.any():
        values, vectors = np.linalg.eigh(X[:, support].T @ X[:, support] / len(X))
        values[:-d] = values[:-d].mean()
        covariance[np.ix_(support, support)] = vectors @ np.diag(values) @ vectors.T
    return covariance


@pytest.fixture
def case(factor_data):
    X, _ = factor_data(0, n=50, p=12, d=2, q=5)
    order = np.argsort(-X.var(axis=0))
    return X, order, SizePosterior(np.array([3, 5, 6]), np.array([0.2, 0.5, 0.3]))


def supports_of(order, posterior):
    for size, weight in zip(posterior.sizes, posterior.probabilities, strict=True):
        support = np.zeros(len(order), dtype=bool)
        support[order[:size]] = True
        yield support, weight


def test_the_covariance_is_the_average_of_those_of_the_models(case):
    X, order, posterior = case
    model = average_models(as_matrix(X), order, posterior, 2, 0.07)
    wanted = sum(w * ppca_covariance(X, v, 2, 0.07) for v, w in supports_of(order, posterior))
    np.testing.assert_allclose(model.covariance(), wanted, atol=1e-12)


def test_the_noise_outside_is_the_mean_square_by_default(case):
    X, order, posterior = case
    model = average_models(as_matrix(X), order, posterior, 2)
    for (support, _), noise in zip(supports_of(order, posterior), model.inactive_variances, strict=True):
        np.testing.assert_allclose(noise, X[:, ~support].var(axis=0).mean())
    # The trace of each model is that of the data, so the average keeps it.
    np.testing.assert_allclose(np.trace(model.covariance()), X.var(axis=0).sum())


def test_the_reconstruction_is_the_average_of_projections(case):
    X, order, posterior = case
    Z = X - X.mean(axis=0)
    wanted = np.zeros_like(Z)
    for support, weight in supports_of(order, posterior):
        axes = np.linalg.svd(np.where(support, Z, 0.0), full_matrices=False)[2][:2]
        wanted += weight * Z @ axes.T @ axes
    np.testing.assert_allclose(average_models(as_matrix(X), order, posterior, 2).project(Z), wanted, atol=1e-12)


def test_the_components_are_those_of_the_average_of_what_the_models_explain(case):
    X, order, posterior = case
    Z = X - X.mean(axis=0)
    explained, projector = np.zeros((12, 12)), np.zeros((12, 12))
    for support, weight in supports_of(order, posterior):
        _, roots, axes = np.linalg.svd(np.where(support, Z, 0.0), full_matrices=False)
        explained += weight * axes[:2].T @ np.diag(roots[:2] ** 2 / len(Z)) @ axes[:2]
        projector += weight * axes[:2].T @ axes[:2]
    model = average_models(as_matrix(X), order, posterior, 2)
    A, variance = model.components, model.explained_variance
    np.testing.assert_allclose(variance, np.linalg.eigvalsh(explained)[::-1][:2], atol=1e-12)
    np.testing.assert_allclose(explained @ A.T, (A * variance[:, None]).T, atol=1e-10)
    np.testing.assert_allclose(A @ A.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(model.shares, np.diag(A @ projector @ A.T), atol=1e-12)
    assert (A[:, order[6:]] == 0).all()  # no model has these


def test_one_certain_size_is_that_model(case):
    X, order, _ = case
    model = average_models(as_matrix(X), order, SizePosterior(np.array([5]), np.array([1.0])), 2, 0.1)
    np.testing.assert_allclose(model.shares, 1)
    np.testing.assert_allclose(model.components, model.models[0].components, atol=1e-10)
    np.testing.assert_allclose(model.explained_variance, model.models[0].eigenvalues)


def test_no_variable_at_all_is_a_model_too(case):
    X, order, _ = case
    empty = average_models(as_matrix(X), order, SizePosterior(np.array([0]), np.array([1.0])), 2, 0.1)
    np.testing.assert_allclose(empty.covariance(), 0.1 * np.eye(12))
    assert empty.components.shape == (0, 12)
    both = average_models(as_matrix(X), order, SizePosterior(np.array([0, 5]), np.array([0.25, 0.75])), 2, 0.1)
    np.testing.assert_allclose(both.shares, 0.75)


def test_posterior_probabilities_without_a_temperature_are_those_of_the_paper(factor_data):
    """At temperature 1 and without a window, P(k) is the evidence of size k over the sum of all."""
    X, _ = factor_data(3, n=12, p=15, d=2, q=5, noise=1.0)
    order = np.argsort(-X.var(axis=0))
    path = evidence_path(X, order, 2, "profile", sizes=np.arange(1, 15))
    plain = size_posterior(path, np.zeros(14), temperature=1.0, window=0.0)
    weights = np.exp(path.log_evidence - path.log_evidence.max())
    np.testing.assert_allclose(plain.probabilities, weights / weights.sum(), rtol=1e-10)
    inside = size_posterior(path, np.zeros(14), temperature=1.0)
    kept = weights >= 1 / 20
    np.testing.assert_array_equal(inside.sizes, path.sizes[kept])
    np.testing.assert_allclose(inside.probabilities, weights[kept] / weights[kept].sum(), rtol=1e-10)
