"""SSPCA: stationarity, descent, special cases, its cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold

from gsppca.baselines import SSPCA, PlainPCA
from gsppca.baselines.sspca import (
    held_out_errors,
    pca_factors,
    proximal_steps,
    shrink_rows,
    structured_factors,
    sweep_scores,
)

TIGHT = {"max_iter": 100_000, "tol": 1e-10}


def objective(X, U, V, penalty):
    """(J1)."""
    return np.sum((X - U @ V.T) ** 2) / 2 + penalty * np.sum(np.linalg.norm(V, axis=1))


def test_shrinking_rows_is_the_proximal_operator():
    rng = np.random.default_rng(0)
    rows, threshold = rng.normal(size=(6, 3)), 1.2

    def value(V):
        return np.sum((V - rows) ** 2) / 2 + threshold * np.sum(np.linalg.norm(V, axis=1))

    best = shrink_rows(rows, threshold)
    assert 0 < np.count_nonzero(np.linalg.norm(best, axis=1)) < 6
    assert value(best) <= min(value(np.zeros_like(rows)), value(rows))
    for size in np.repeat([1e-4, 1e-2, 1.0], 100):
        assert value(best) <= value(best + size * rng.normal(size=rows.shape))


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7])
def test_solution_is_stationary(centred, share):
    start = pca_factors(centred, 2)
    penalty = share * start.strength.max()
    fit = structured_factors(centred, start, penalty, **TIGHT)
    assert fit.converged
    U, V = fit.scores, fit.loadings
    # (J4)
    residual = centred.T @ U - V @ (U.T @ U)
    norms = np.linalg.norm(V, axis=1)
    on = norms > 0
    assert 0 < on.sum()
    np.testing.assert_allclose(residual[on], penalty * V[on] / norms[on, np.newaxis], atol=1e-6 * penalty)
    assert np.all(np.linalg.norm(residual[~on], axis=1) <= penalty * (1 + 1e-6))
    # (J5)
    gradient = centred @ V - U @ (V.T @ V)
    multipliers = np.sum(gradient * U, axis=0)
    np.testing.assert_allclose(np.linalg.norm(U, axis=0), 1.0)
    np.testing.assert_allclose(gradient, U * multipliers, atol=1e-6 * np.abs(centred @ V).max())
    assert np.all(multipliers >= 0)


def test_some_variables_are_in_and_some_out(centred):
    start = pca_factors(centred, 2)
    sizes = [
        np.count_nonzero(structured_factors(centred, start, share * start.strength.max()).strength)
        for share in (0.05, 0.4, 0.7, 2.0)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[1] > sizes[2] > sizes[3] == 0


def test_each_half_step_lowers_the_objective(centred):
    fit = pca_factors(centred, 3)
    U, V, penalty = fit.scores, fit.loadings, 0.4 * fit.strength.max()
    values = [objective(centred, U, V, penalty)]
    for _ in range(30):
        V, _ = proximal_steps(centred, U, V, penalty)
        values.append(objective(centred, U, V, penalty))
        U = sweep_scores(centred, U, V)
        values.append(objective(centred, U, V, penalty))
    assert np.all(np.diff(values) <= 1e-12 * values[0])
    assert values[-1] < 0.99 * values[0]


def test_without_penalty_pca_does_not_move(centred):
    start = pca_factors(centred, 2)
    fit = structured_factors(centred, start, 0.0, **TIGHT)
    assert fit.n_iter == 1
    best = np.linalg.svd(centred)[1][2:] ** 2
    np.testing.assert_allclose(np.sum((centred - fit.scores @ fit.loadings.T) ** 2), best.sum())


def test_without_penalty_any_start_leads_to_pca(centred):
    rng = np.random.default_rng(0)
    start = pca_factors(centred, 2)
    U = np.linalg.qr(start.scores + 0.3 * rng.normal(size=start.scores.shape))[0]
    V = start.loadings + 0.3 * rng.normal(size=start.loadings.shape)
    fit = structured_factors(centred, type(start)(U, V), 0.0, **TIGHT)
    np.testing.assert_allclose(fit.scores @ fit.loadings.T, start.scores @ start.loadings.T, atol=1e-6)


def test_keeping_all_variables_is_pca(small):
    model = SSPCA(n_components=2, n_features_to_select=12, axes="pca", random_state=0).fit(small)
    np.testing.assert_allclose(model.components_, PlainPCA(n_components=2).fit(small).components_, atol=1e-8)


def test_dense_cross_validation_is_that_of_pca(small):
    folds = KFold(5, shuffle=True, random_state=0)
    errors = held_out_errors(small, [0.0], 2, folds, 100, 1e-6)
    expected = 0.0
    for train, test in folds.split(small):
        pca = PCA(n_components=2).fit(small[train])
        expected += np.sum((small[test] - pca.inverse_transform(pca.transform(small[test]))) ** 2)
    np.testing.assert_allclose(errors, expected / small.size)


def test_empty_cross_validation_is_that_of_the_mean(small):
    folds = KFold(5, shuffle=True, random_state=0)
    errors = held_out_errors(small, [1e6], 2, folds, 100, 1e-6)
    expected = sum(np.sum((small[test] - small[train].mean(axis=0)) ** 2) for train, test in folds.split(small))
    np.testing.assert_allclose(errors, expected / small.size)


def test_sparse_cross_validation_projects_on_the_loadings_of_the_fold(small):
    folds = KFold(4, shuffle=True, random_state=1)
    penalty = 0.3 * pca_factors(small - small.mean(axis=0), 2).strength.max()
    expected, sizes = 0.0, []
    for train, test in folds.split(small):
        rows = small[train] - small[train].mean(axis=0)
        scaled = penalty * np.sqrt(train.size / small.shape[0])
        V = structured_factors(rows, pca_factors(rows, 2), scaled, **TIGHT).loadings
        sizes.append(np.count_nonzero(V.any(axis=1)))
        held_out = small[test] - small[train].mean(axis=0)
        expected += np.sum((held_out - held_out @ V @ np.linalg.pinv(V)) ** 2)
    assert all(2 < size < 12 for size in sizes)
    errors = held_out_errors(small, [penalty], 2, folds, **TIGHT)
    np.testing.assert_allclose(errors, expected / small.size, rtol=1e-6)


def test_automatic_rule_is_the_smallest_error(small):
    model = SSPCA(n_components=2, random_state=0).fit(small)
    path = model.path_
    assert path.criterion[path.chosen] <= path.criterion.min() + 1e-8 * path.criterion.max()
    assert path.sizes[0] == 12
    assert path.sizes[-1] == 0
    assert path.penalties[path.chosen] == model.penalty_
