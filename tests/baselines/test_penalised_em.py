"""svnPCA and vsnPCA: likelihood, M-steps, monotonicity, stationarity, special cases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from gsppca.baselines import PlainPCA, SvnPCA, VsnPCA
from gsppca.baselines.penalised_em import (
    PenalisedPPCA,
    ScoreMoments,
    bic,
    em_step,
    l0_levels,
    l0_rows,
    l1_levels,
    l1_rows,
    log_likelihood,
    penalised_em,
    ppca,
    score_moments,
)

TIGHT = {"max_iter": 200_000, "tol": 1e-11}
PENALTIES = {l0_rows: lambda norm: float(norm > 0), l1_rows: float}
both = pytest.mark.parametrize("row_step", [l0_rows, l1_rows], ids=["l0", "l1"])


@pytest.fixture
def X(simulate):
    data = simulate(5, 40, 10, size=5, n_components=2, snr=3.0)[0]
    return data - data.mean(axis=0)


@pytest.fixture
def moments(X):
    start = ppca(X, 40, 2)
    return score_moments(X, 40, start.loadings, start.noise_variance)


def gradients(X, G, s2):
    """Derivatives of the log-likelihood (U2) by G and s2, through the p x p covariance."""
    n, p = X.shape
    inverse = np.linalg.inv(G @ G.T + s2 * np.eye(p))
    inner = inverse @ (X.T @ X) @ inverse - n * inverse
    return inner @ G, np.trace(inner) / 2


def middle_penalty(X, row_step):
    """A penalty that removes some variables of `X`, not all."""
    start = ppca(X, X.shape[0], 2)
    levels = {l0_rows: l0_levels, l1_rows: l1_levels}[row_step]
    return float(np.median(levels(score_moments(X, X.shape[0], start.loadings, start.noise_variance))))


def test_log_likelihood_is_that_of_a_gaussian(X):
    rng = np.random.default_rng(0)
    G, s2 = rng.normal(size=(10, 3)), 0.7
    expected = stats.multivariate_normal(np.zeros(10), G @ G.T + s2 * np.eye(10)).logpdf(X).sum()
    np.testing.assert_allclose(log_likelihood(X, 40, G, s2), expected)


def test_ppca_is_the_maximum(X):
    fit = ppca(X, 40, 2)
    by_loadings, by_noise = gradients(X, fit.loadings, fit.noise_variance)
    np.testing.assert_allclose(by_loadings, 0, atol=1e-8)
    np.testing.assert_allclose(by_noise, 0, atol=1e-8)
    assert fit.log_likelihood > log_likelihood(X, 40, 0.9 * fit.loadings, fit.noise_variance)


@both
def test_without_penalty_it_is_ppca(X, row_step):
    start = ppca(X, 40, 2)
    away = PenalisedPPCA(start.loadings + 0.2 * np.random.default_rng(0).normal(size=(10, 2)), 2.0)
    fit = penalised_em(X, 40, away, 0.0, row_step, **TIGHT)
    np.testing.assert_allclose(fit.loadings @ fit.loadings.T, start.loadings @ start.loadings.T, atol=1e-6)
    np.testing.assert_allclose(fit.noise_variance, start.noise_variance)
    np.testing.assert_allclose(fit.log_likelihood, start.log_likelihood)
    moved = em_step(X, 40, start, 0.0, row_step)
    np.testing.assert_allclose(moved.loadings, start.loadings, atol=1e-10)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99, 1.01])
def test_l1_row_is_the_minimum(moments, share):
    """(U4), by a general optimiser started away from the kink."""
    level = l1_levels(moments)[3]
    penalty = share * level
    row = l1_rows(moments, penalty)[3]

    def value(g):
        fit = (g @ moments.second @ g - 2 * g @ moments.cross[3]) / (2 * moments.noise_variance)
        return fit + penalty * np.linalg.norm(g)

    start = np.linalg.solve(moments.second, moments.cross[3])
    best = minimize(value, start, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 5000})
    assert value(row) <= min(best.fun, value(np.zeros(2))) + 1e-9
    assert bool(row.any()) == (share < 1)
    if share < 1:
        np.testing.assert_allclose(row, best.x, atol=1e-4 * np.abs(start).max())


def test_l1_rows_solve_their_secular_equation_when_ill_conditioned():
    rng = np.random.default_rng(0)
    moments = ScoreMoments(np.diag([1e-6, 1.0, 1e6]), rng.normal(size=(200, 3)), 1.0)
    rows = l1_rows(moments, 0.3)
    norms = np.linalg.norm(rows, axis=1)
    on = norms > 0
    np.testing.assert_array_equal(on, np.linalg.norm(moments.cross, axis=1) > 0.3)
    left = rows[on] @ moments.second - moments.cross[on] + 0.3 * rows[on] / norms[on, np.newaxis]
    np.testing.assert_allclose(left, 0, atol=1e-8)


def test_l0_row_is_the_better_of_two(moments):
    levels = l0_levels(moments)
    penalty = float(np.median(levels))
    rows = l0_rows(moments, penalty)
    np.testing.assert_array_equal(rows.any(axis=1), levels > penalty)
    for row, r, level in zip(rows, moments.cross, levels, strict=True):
        free = np.linalg.solve(moments.second, r)
        gain = (2 * free @ r - free @ moments.second @ free) / (2 * moments.noise_variance)
        np.testing.assert_allclose(gain, level)
        np.testing.assert_allclose(row, free if gain > penalty else 0, atol=1e-12)


@both
def test_penalised_likelihood_never_falls(X, row_step):
    penalty = middle_penalty(X, row_step)
    model = ppca(X, 40, 2)
    values = []
    for _ in range(60):
        likelihood = log_likelihood(X, 40, model.loadings, model.noise_variance)
        values.append(-likelihood + penalty * sum(PENALTIES[row_step](norm) for norm in model.strength))
        model = em_step(X, 40, model, penalty, row_step)
    assert np.all(np.diff(values) <= 1e-9 * abs(values[0]))
    assert values[-1] < values[0] - 0.1


@both
def test_solution_is_stationary(X, row_step):
    penalty = middle_penalty(X, row_step)
    fit = penalised_em(X, 40, ppca(X, 40, 2), penalty, row_step, **TIGHT)
    assert fit.converged
    on = fit.strength > 0
    assert 0 < on.sum() < 10
    by_loadings, by_noise = gradients(X, fit.loadings, fit.noise_variance)
    np.testing.assert_allclose(by_noise, 0, atol=1e-5)
    if row_step is l1_rows:
        pull = penalty * fit.loadings[on] / fit.strength[on, np.newaxis]
        np.testing.assert_allclose(by_loadings[on], pull, atol=1e-5 * penalty)
        assert np.all(np.linalg.norm(by_loadings[~on], axis=1) <= penalty * (1 + 1e-6))
    else:
        np.testing.assert_allclose(by_loadings[on], 0, atol=1e-5)
        levels = l0_levels(score_moments(X, 40, fit.loadings, fit.noise_variance))
        assert np.all(levels[on] > penalty)
        assert np.all(levels[~on] <= penalty)


def test_bic_counts_the_free_parameters(X):
    fit = ppca(X, 40, 2)
    # 10 x 2 loadings, one rotation, one noise variance
    np.testing.assert_allclose(bic(fit, 40), -2 * fit.log_likelihood + np.log(40) * (20 - 1 + 1))
    one = PenalisedPPCA(np.eye(10, 2) * [1.0, 0.0], 1.0, log_likelihood=-5.0)
    np.testing.assert_allclose(bic(one, 40), 10 + np.log(40) * 2)
    none = PenalisedPPCA(np.zeros((10, 2)), 1.0, log_likelihood=-5.0)
    np.testing.assert_allclose(bic(none, 40), 10 + np.log(40))


@pytest.mark.parametrize("method", [SvnPCA, VsnPCA])
def test_automatic_rule_is_the_smallest_bic(method, small):
    model = method(n_components=2, random_state=0).fit(small)
    path = model.path_
    assert path.chosen == np.argmin(path.criterion)
    assert path.sizes[0] == 12
    assert path.sizes[-1] == 0
    assert path.penalties[path.chosen] == model.penalty_


@pytest.mark.parametrize("method", [SvnPCA, VsnPCA])
def test_keeping_all_variables_is_pca(method, small):
    model = method(n_components=2, n_features_to_select=12, axes="pca", random_state=0).fit(small)
    np.testing.assert_allclose(model.components_, PlainPCA(n_components=2).fit(small).components_, atol=1e-8)


@pytest.mark.parametrize("method", [SvnPCA, VsnPCA])
def test_own_axes_are_orthonormal(method, small):
    model = method(n_components=2, n_features_to_select=5, random_state=0).fit(small)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-10)


def test_as_many_axes_as_variables_leaves_a_floor_of_noise(simulate):
    X = simulate(0, 20, 3, size=3, n_components=1)[0]
    for method in (SvnPCA, VsnPCA):
        assert np.all(np.isfinite(method(n_components=3, random_state=0).fit(X).components_))
