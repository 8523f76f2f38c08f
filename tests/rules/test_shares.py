"""What chosen variables say of all: against literal regressions, row by row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gsppca.data import as_matrix
from gsppca.data.chosen_columns import column_values
from gsppca.data.fold_products import fold_products, products_by_fold
from gsppca.data.folds import fold_squares, scores_and_squares, weighted_moments
from gsppca.rules import shares
from gsppca.rules.representatives import represents
from gsppca.rules.shares import FoldMoments, describe_moments
from gsppca.rules.shrinkage import ledoit_wolf
from tests.needs import optional

FOLDS = 5


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    n, p = 70, 25
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, p)) + 0.7 * rng.standard_normal((n, p))
    X *= rng.uniform(0.5, 4.0, p)
    return X, rng.integers(0, FOLDS, n), np.array([4, 17, 9, 2])


def standard(X):
    Z = X - X.mean(axis=0)
    return Z / np.sqrt(np.mean(Z**2, axis=0))


def describe_core(matrix, chosen, scores, fold, *, standardise=True):
    """As `find_core` does it."""
    deviations = np.sqrt(matrix.column_squares / matrix.n_samples)
    moments = FoldMoments.of(matrix.scaled(1 / deviations), chosen, scores, fold)
    return describe_moments(moments, None if standardise else deviations)


def all_scores(Z, d):
    return Z @ np.linalg.svd(Z, full_matrices=False)[2][:d].T


def shrinkage_of(Z):
    n, p = Z.shape
    moments = Z.T @ Z / n
    return ledoit_wolf(np.trace(moments), np.sum(moments**2), np.sum(np.sum(Z**2, axis=1) ** 2), n, p)


@pytest.mark.parametrize("n", [70, 40])
@pytest.mark.parametrize("chosen", [[4, 17, 9, 2], np.arange(20)[::-1]], ids=["four", "twenty"])
def test_predicted_shares_are_those_of_regressions_without_the_fold(data, n, chosen):
    """Folds have more rows than there are chosen variables, or fewer."""
    X, fold, chosen = data[0][:n], data[1][:n], np.asarray(chosen)
    Z, m = standard(X), len(chosen)
    jointly, singly = np.zeros(25), np.zeros((m, 25))
    for number in range(FOLDS):
        train, test = Z[fold != number], Z[fold == number]
        own = train[:, chosen]
        shrinkage = max(1e-3, shrinkage_of(own))
        moments = (1 - shrinkage) * own.T @ own / len(own) + shrinkage * np.eye(m)
        predicted = test[:, chosen] @ np.linalg.solve(moments, (1 - shrinkage) * own.T @ train / len(own))
        jointly += np.sum((test - predicted) ** 2, axis=0)
        for i, k in enumerate(chosen):
            slope = train[:, k] @ train / (train[:, k] @ train[:, k])
            singly[i] += np.sum((test - np.outer(test[:, k], slope)) ** 2, axis=0)
    stands = np.argmax(np.abs(Z[:, chosen].T @ Z), axis=0)
    stands[chosen] = np.arange(m)
    expected = 1 - np.minimum(jointly, singly[stands, np.arange(25)]) / np.sum(Z**2, axis=0)
    found = describe_core(as_matrix(X), chosen, all_scores(Z, 3), fold)
    np.testing.assert_allclose(found.predicted, expected, atol=1e-10)
    np.testing.assert_allclose(found.predicted[chosen], 1.0)


def test_shrinkage_is_that_of_scikit_learn(data):
    from sklearn.covariance import ledoit_wolf_shrinkage

    Z = standard(data[0])
    assert shrinkage_of(Z) == pytest.approx(ledoit_wolf_shrinkage(Z, assume_centered=True))


@pytest.mark.parametrize("standardise", [True, False])
def test_components_predict_what_regressions_on_their_scores_do(data, standardise):
    X, fold, chosen = data
    Z = standard(X) if standardise else X - X.mean(axis=0)
    scores = all_scores(Z, 2)
    errors, score_errors = 0.0, np.zeros(2)
    for number in range(FOLDS):
        train, test = fold != number, fold == number
        axes = np.linalg.eigh(Z[train][:, chosen].T @ Z[train][:, chosen])[1][:, ::-1][:, :2]
        own = Z[:, chosen] @ axes
        errors += np.sum((Z[test] - own[test] @ np.linalg.lstsq(own[train], Z[train], rcond=None)[0]) ** 2)
        score_errors += np.sum(
            (scores[test] - own[test] @ np.linalg.lstsq(own[train], scores[train], rcond=None)[0]) ** 2, axis=0
        )
    found = describe_core(as_matrix(X), chosen, scores, fold, standardise=standardise)
    assert found.variance_share == pytest.approx(1 - errors / np.sum(Z**2))
    np.testing.assert_allclose(found.component_shares, 1 - score_errors / np.sum(scores**2, axis=0), atol=1e-10)
    assert found.components_share == pytest.approx(1 - score_errors.sum() / np.sum(scores**2))


def test_the_components_of_all_variables_are_their_own(data):
    X, fold, _ = data
    scores = all_scores(standard(X), 3)
    found = describe_core(as_matrix(X), np.arange(25), scores, fold)
    assert found.components_share > 0.9
    assert 0.5 < found.variance_share < 1


def test_features_may_be_described_a_few_at_a_time(data, monkeypatch):
    X, fold, chosen = data
    scores = all_scores(standard(X), 3)
    wanted = describe_core(as_matrix(X), chosen, scores, fold, standardise=False)
    monkeypatch.setattr(shares, "BLOCK", 7)
    found = describe_core(as_matrix(X), chosen, scores, fold, standardise=False)
    np.testing.assert_array_equal(found.represented_by, wanted.represented_by)
    np.testing.assert_array_equal(found.represented_by[chosen], chosen)
    for name in ("predicted", "correlation", "variance_share", "component_shares"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), atol=1e-12, err_msg=name)


def test_a_variable_is_represented_by_its_nearest(data):
    X, fold, chosen = data
    X = np.column_stack([X, -2 * X[:, 17]])
    correlation = np.corrcoef(X.T)
    indices, correlations = represents(as_matrix(X), chosen, 30)
    assert indices[1, 0] == 25
    assert correlations[1, 0] == pytest.approx(-1.0)
    listed = indices[indices >= 0]
    assert sorted([*listed, *chosen]) == list(range(26))  # each once
    for row, member in enumerate(chosen):
        own = indices[row][indices[row] >= 0]
        np.testing.assert_allclose(correlations[row, : len(own)], correlation[member, own])
        assert (np.diff(np.abs(correlations[row, : len(own)])) <= 1e-12).all()
        for k in own:
            assert abs(correlation[member, k]) == pytest.approx(np.abs(correlation[chosen, k]).max())
    found = describe_core(as_matrix(X), chosen, all_scores(standard(X), 3), fold)
    assert found.represented_by[25] == 17
    np.testing.assert_array_equal(found.represented_by[chosen], chosen)


@pytest.mark.parametrize("container", ["C", "F", "csr", "dask"])
def test_sums_by_fold(data, container):
    X, fold, chosen = data
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    if container == "dask":
        other = optional("dask.array").from_array(X, chunks=(13, 25))
    elif container == "csr":
        from scipy.sparse import csr_array

        other = csr_array(X)
    else:
        other = np.array(X, order=container)
    matrix = as_matrix(other).scaled(np.linspace(1, 2, 25))
    Z = (X - X.mean(axis=0)) * np.linspace(1, 2, 25)
    grams = np.array([Z[fold == number].T @ Z[fold == number] for number in range(FOLDS)])
    np.testing.assert_allclose(fold_products(matrix, np.arange(25), fold).products, grams, atol=1e-9)
    np.testing.assert_allclose(fold_squares(matrix, fold), grams.diagonal(axis1=1, axis2=2), atol=1e-9)
    np.testing.assert_allclose(column_values(matrix, chosen), Z[:, chosen], atol=1e-12)


@pytest.mark.parametrize("container", ["C", "F", "csr", "dask", "wide"])
def test_products_by_fold(data, container):
    X, fold, chosen = data
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    if container == "wide":
        X = np.hstack([X, X**2, np.sin(X)])
    if container == "dask":
        other = optional("dask.array").from_array(X, chunks=(13, 25))
    elif container == "csr":
        from scipy.sparse import csr_array

        other = csr_array(X)
    else:
        other = np.array(X, order="C" if container == "wide" else container)
    matrix = as_matrix(other)
    Z = X - X.mean(axis=0)
    others = np.random.default_rng(1).standard_normal((70, 2))
    left, right, weights = Z[:, chosen], np.column_stack([Z, others]), np.linspace(0, 2, len(chosen))
    found = fold_products(matrix, chosen, fold, others, weights)
    expected = [left[fold == number].T @ right[fold == number] for number in range(FOLDS)]
    np.testing.assert_allclose(found.products, expected, atol=1e-9)
    fourths = (left**2 @ weights) ** 2
    np.testing.assert_allclose(found.fourths, [fourths[fold == number].sum() for number in range(FOLDS)], rtol=1e-9)
    for every in (np.arange(Z.shape[1]), np.arange(Z.shape[1])[::-1]):
        expected = [Z[fold == number][:, every].T @ Z[fold == number] for number in range(FOLDS)]
        np.testing.assert_allclose(fold_products(matrix, every, fold).products, expected, atol=1e-9)
    part = slice(3, 11)
    expected = [others[fold == number].T @ Z[fold == number, part] for number in range(FOLDS)]
    by_fold, over_all = products_by_fold(matrix, others, fold, Z[:, chosen])(part)
    np.testing.assert_allclose(by_fold, expected, atol=1e-9)
    np.testing.assert_allclose(over_all, Z[:, chosen].T @ Z[:, part], atol=1e-9)
    axes = np.random.default_rng(2).standard_normal((3, X.shape[1]))
    expected = np.column_stack([Z @ axes.T, np.sum(Z**2, axis=1)])
    np.testing.assert_allclose(scores_and_squares(matrix, axes), expected, atol=1e-9)
    weights, several = np.random.default_rng(3).uniform(size=(70, 2)), np.array([axes, 2 * axes[::-1]])
    scores, moments = weighted_moments(matrix, several, weights)
    np.testing.assert_allclose(scores, np.einsum("ij,pkj->ipk", Z, several), atol=1e-9)
    np.testing.assert_allclose(moments, np.einsum("ipk,ip,ij->pkj", scores, weights, Z), atol=1e-9)


def test_chosen_noise_may_be_shrunk_to_nothing():
    """Where the moments of the chosen variables are all chance, they predict nothing together."""
    rng = np.random.default_rng(0)
    moments = FoldMoments.of(
        as_matrix(rng.standard_normal((50, 6))), np.array([0, 1]), np.ones((50, 1)), np.arange(50) % 5
    )
    moments = replace(moments, fourths=np.full(5, 1e9))
    assert moments.shrinkage(0) == 1.0
    assert np.isfinite(describe_moments(moments).predicted).all()
