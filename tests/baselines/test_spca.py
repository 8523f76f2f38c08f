"""SPCA: optimality of its two steps, special cases, its rule and its exact sizes."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca.baselines import SPCA, PlainPCA, sparse_axes, spca_from_gram
from gsppca.baselines import elastic_net as elastic_net_module
from gsppca.baselines.elastic_net import Sparsity, elastic_net, soft_threshold
from gsppca.baselines.linalg import adjusted_variances
from gsppca.baselines.spca import sparsest

TIGHT = {"max_iter": 20_000, "tol": 1e-9}


def elastic_net_residual(X, a, b, ridge, penalty):
    """Violation of (E2), relative to |X'X a|: gradient on the support, slack off it."""
    c = X.T @ (X @ a)
    gradient = X.T @ (X @ b) + ridge * b - c
    on = b != 0
    active = np.abs(gradient[on] + penalty / 2 * np.sign(b[on]))
    inactive = np.maximum(np.abs(gradient[~on]) - penalty / 2, 0)
    return np.max(np.concatenate([active, inactive])) / np.max(np.abs(c))


def criterion(X, A, B, ridge, penalties):
    """(S1), or its limit (E3) for an infinite ridge."""
    lasso = penalties @ np.abs(B).sum(axis=0)
    if np.isinf(ridge):
        return -2 * np.sum((X @ A) * (X @ B)) + np.sum(B**2) + lasso
    return np.sum((X - X @ B @ A.T) ** 2) + ridge * np.sum(B**2) + lasso


@pytest.mark.parametrize("ridge", [0.5, 20.0])
@pytest.mark.parametrize("share", [0.001, 0.1, 0.6, 1.5])
def test_elastic_net_is_optimal_for_a_penalty(centred, ridge, share):
    a = np.linalg.svd(centred)[2][0]
    c = centred.T @ (centred @ a)
    penalty = share * 2 * np.max(np.abs(c))
    gram = centred.T @ centred + ridge * np.eye(c.size)
    b, used = elastic_net(c, gram, Sparsity(None, penalty))
    assert used == penalty
    assert elastic_net_residual(centred, a, b, ridge, penalty) < 1e-10
    assert bool(b.any()) == (share < 1)


@pytest.mark.parametrize("nonzeros", range(1, 13))
def test_elastic_net_is_optimal_for_a_count(centred, nonzeros):
    a = np.linalg.svd(centred)[2][1]
    c = centred.T @ (centred @ a)
    b, penalty = elastic_net(c, centred.T @ centred + np.eye(c.size), Sparsity(nonzeros))
    assert np.count_nonzero(b) == nonzeros
    assert elastic_net_residual(centred, a, b, 1.0, penalty) < 1e-10


def test_elastic_net_lets_variables_leave():
    """Correlated columns: some coefficient changes its sign along the path, so that plain least angle fails."""
    rng = np.random.default_rng(0)
    left = 0
    for _ in range(20):
        X = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 8)) + 0.3 * rng.normal(size=(30, 8))
        a = rng.normal(size=8)
        c = X.T @ (X @ a)
        signs = []
        for penalty in np.geomspace(1e-4, 1.9, 40) * np.max(np.abs(c)):
            b, _ = elastic_net(c, X.T @ X, Sparsity(None, penalty))
            assert elastic_net_residual(X, a, b, 0.0, penalty) < 1e-6
            signs.append(b != 0)
        left += np.any(np.diff(np.array(signs).astype(int), axis=0) > 0)  # in at a high penalty, out at a lower
    assert left > 5


def test_a_variable_that_left_is_exactly_zero(monkeypatch):
    """Whatever the rounding of the interpolation that takes it out."""
    path = np.array([[0.0, 1.0, 1.0], [0.0, 0.5, 3e-17], [0.0, 0.0, -0.3]])
    monkeypatch.setattr(elastic_net_module, "lars_path_gram", lambda **_: (np.ones(3), None, path.copy()))
    b, _ = elastic_net(np.array([1.0, 0.5, 0.3]), np.eye(3), Sparsity(None, 0.1))
    np.testing.assert_array_equal(b, [1.0, 0.0, -0.3])


def test_soft_threshold_is_the_limit_of_the_elastic_net(centred):
    c = centred.T @ (centred @ np.linalg.svd(centred)[2][0])
    penalty = 0.3 * np.max(np.abs(c))
    ridge = 1e8 * np.max(np.abs(c))
    limit, _ = soft_threshold(c, Sparsity(None, penalty))
    finite, _ = elastic_net(c, centred.T @ centred + ridge * np.eye(c.size), Sparsity(None, penalty))
    np.testing.assert_allclose((1 + ridge) * finite, limit, atol=1e-6 * np.max(np.abs(c)))
    for nonzeros in range(1, c.size + 1):
        b, used = soft_threshold(c, Sparsity(nonzeros))
        assert np.count_nonzero(b) == nonzeros
        np.testing.assert_allclose(b, np.sign(c) * np.maximum(np.abs(c) - used / 2, 0))


@pytest.mark.parametrize("ridge", [0.7, np.inf])
def test_solution_is_a_fixed_point_of_both_steps(centred, ridge):
    scale = np.linalg.svd(centred)[1][0] ** 2
    wanted = [Sparsity(None, 0.2 * scale), Sparsity(None, 0.1 * scale)]
    fit = sparse_axes(centred, wanted, ridge, **TIGHT)
    assert fit.converged
    assert 0 < np.count_nonzero(fit.loadings) < fit.loadings.size
    np.testing.assert_allclose(fit.basis.T @ fit.basis, np.eye(2), atol=1e-10)
    # (S2)
    for k in range(2):
        a, b, penalty = fit.basis[:, k], fit.loadings[:, k], fit.penalties[k]
        if np.isinf(ridge):
            np.testing.assert_allclose(b, soft_threshold(centred.T @ (centred @ a), wanted[k])[0], atol=1e-10)
        else:
            assert elastic_net_residual(centred, a, b, ridge, penalty) < 1e-10
    # (S3): A is the polar factor of X'X B exactly when A'X'X B is symmetric and positive semi-definite
    product = centred.T @ (centred @ fit.loadings)
    small = fit.basis.T @ product
    np.testing.assert_allclose(small, small.T, atol=1e-6 * np.abs(small).max())
    assert np.linalg.eigvalsh((small + small.T) / 2)[0] > 0
    np.testing.assert_allclose(fit.basis @ small, product, atol=1e-6 * np.abs(product).max())


@pytest.mark.parametrize("ridge", [0.7, np.inf])
def test_criterion_falls_from_round_to_round(centred, ridge):
    scale = np.linalg.svd(centred)[1][0] ** 2
    wanted = [Sparsity(None, share * scale) for share in (0.2, 0.1, 0.05)]
    values = []
    for rounds in range(1, 15):
        fit = sparse_axes(centred, wanted, ridge, max_iter=rounds, tol=0.0)
        values.append(criterion(centred, fit.basis, fit.loadings, ridge, fit.penalties))
    assert np.all(np.diff(values) <= 1e-10 * abs(values[0]))
    assert values[-1] < values[0] - 1e-3 * abs(values[0])


@pytest.mark.parametrize("ridge", [0.1, np.inf])
def test_without_penalty_it_is_pca(small, ridge):
    model = SPCA(n_components=3, penalty=0.0, ridge=ridge, **TIGHT).fit(small)
    np.testing.assert_allclose(model.components_, PlainPCA(n_components=3).fit(small).components_, atol=1e-6)


def test_without_penalty_and_ridge_it_is_pca_when_rows_abound(simulate):
    X = simulate(0, 40, 12, size=5, n_components=2)[0]
    model = SPCA(n_components=3, penalty=0.0, **TIGHT).fit(X)
    assert model.ridge_ == 0
    np.testing.assert_allclose(model.components_, PlainPCA(n_components=3).fit(X).components_, atol=1e-6)


@pytest.mark.parametrize("ridge", [1.0, np.inf])
@pytest.mark.parametrize("counts", [[1, 1], [5, 2], [3, 12], [12, 12]])
def test_each_axis_has_as_many_loadings_as_asked(small, ridge, counts):
    model = SPCA(n_components=2, n_nonzero=counts, ridge=ridge, random_state=0).fit(small)
    np.testing.assert_array_equal(np.count_nonzero(model.components_, axis=1), counts)
    np.testing.assert_array_equal(model.support_, (model.components_ != 0).any(axis=0))


def test_one_axis_of_a_given_size_keeps_all_its_loadings(small):
    for size in range(1, 13):
        model = SPCA(n_components=1, n_features_to_select=size, random_state=0).fit(small)
        assert np.count_nonzero(model.components_) == size


def test_automatic_rule_is_the_sparsest_that_explains_enough(small):
    model = SPCA(n_components=1, explained_share=0.8, random_state=0).fit(small)
    centred = small - small.mean(axis=0)
    top = np.linalg.svd(centred)[1][0] ** 2
    ridge = 0.0 if small.shape[0] > small.shape[1] else np.inf
    shares = []
    for count in range(1, 13):
        axes = sparse_axes(centred, [Sparsity(count)], ridge).axes
        shares.append(adjusted_variances(centred, axes).sum() / top)
    assert model.n_selected_ == 1 + int(np.argmax(np.array(shares) >= 0.8))
    np.testing.assert_allclose(model.path_.criterion[model.path_.chosen], shares[model.n_selected_ - 1])
    assert np.all(np.diff(model.path_.sizes) < 0)


def test_bisection_finds_the_switch():
    for switch in range(1, 300, 7):
        assert sparsest(lambda k, switch=switch: k >= switch, 300) == switch


def test_gram_matrix_gives_what_the_data_give(small):
    centred = small - small.mean(axis=0)
    from_gram = spca_from_gram(centred.T @ centred, n_nonzero=[4, 3], ridge=1.0)
    model = SPCA(n_components=2, n_nonzero=[4, 3], ridge=1.0, random_state=0).fit(small)
    np.testing.assert_allclose(from_gram.axes, model.components_, atol=1e-5)
    np.testing.assert_allclose(from_gram.penalties, model.penalty_, rtol=1e-4)


def test_equal_columns_leave_a_warning_without_ridge(simulate):
    X = simulate(0, 40, 6, size=3, n_components=1)[0]
    # Six differ; whether the path still takes in the last of them, beside its twins, rounding decides.
    with pytest.warns(UserWarning, match=r"ridge=0 only [56] variables.*Raise ridge"):
        model = SPCA(n_components=1, n_features_to_select=9).fit(np.column_stack([X, X]))
    assert model.n_selected_ == 9


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_nonzero": 3, "penalty": 1.0}, r"n_nonzero=3.*exclude each other"),
        ({"n_nonzero": 3, "n_features_to_select": 3}, r"exclude each other"),
        ({"n_nonzero": [3, 2, 1]}, r"n_nonzero must be .*n_components = 2 of them, got \[3, 2, 1\]"),
        ({"n_nonzero": 13}, r"n_nonzero must be .*from 1 to n_features = 12, got 13"),
        ({"n_nonzero": 2.5}, r"n_nonzero must be integers.*got 2.5"),
        ({"penalty": -1.0}, r"penalty must be at least 0, got -1.0"),
        ({"ridge": -1.0}, r"ridge must be .*at least 0, got -1.0"),
        ({"ridge": "none"}, r"ridge must be .*got 'none'"),
    ],
)
def test_wrong_parameters_are_named(small, parameters, message):
    with pytest.raises(ValueError, match=message):
        SPCA(**parameters).fit(small)


def test_impossible_counts_are_refused(small):
    small = small.copy()
    small[:, 0] = 1.0
    with pytest.raises(ValueError, match=r"axis 0 cannot have 12 non-zero loadings, only 11"):
        SPCA(n_nonzero=12, ridge=1.0).fit(small)


def test_gram_route_refuses_nonsense():
    with pytest.raises(ValueError, match="exactly one"):
        spca_from_gram(np.eye(3))
    with pytest.raises(ValueError, match="positive semi-definite"):
        spca_from_gram(-np.eye(3), n_nonzero=[1])
