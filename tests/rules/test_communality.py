"""Leave-one-out communality: against one PCA per variable, and what noise gives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats

from gsppca.data import as_matrix
from gsppca.rules import communality
from gsppca.rules.communality import leave_one_out_r2


def literal(X, d):
    """For every variable, a singular value decomposition of the others."""
    Z = X - X.mean(axis=0)
    values = []
    for k, column in enumerate(Z.T):
        axes = np.linalg.svd(np.delete(Z, k, axis=1), full_matrices=False)[0][:, :d]
        values.append(((axes.T @ column) ** 2).sum() / (column**2).sum())
    return np.array(values)


def literal_lumped(X, d, n_axes):
    """The same with the eigenvalues beyond `n_axes` replaced by their mean, with n x n matrices."""
    Z = X - X.mean(axis=0)
    n, p = Z.shape
    vectors, singular = np.linalg.svd(Z)[:2]
    rank = min(n - 1, p)
    eigenvalues = np.zeros(n)
    eigenvalues[:rank] = singular[:rank] ** 2
    mean = eigenvalues[n_axes:rank].mean()
    values = []
    for column in Z.T:
        # The mean stands where the rest of this column points to.
        leading = vectors[:, :n_axes]
        rest = column - leading @ (leading.T @ column)
        K = (leading * eigenvalues[:n_axes]) @ leading.T + mean * np.outer(rest, rest) / (rest @ rest)
        axes = np.linalg.eigh(K - np.outer(column, column))[1][:, -d:]
        values.append(((axes.T @ column) ** 2).sum() / (column**2).sum())
    return np.array(values)


def data(n, p, q=0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.3, 3, p) + 5
    X[:, :q] += 2 * rng.standard_normal((n, 2)) @ rng.standard_normal((2, q))
    return X


SHAPES = [
    (30, 20, 3, 8),
    (20, 50, 3, 10),
    (20, 50, 1, 0),
    (10, 30, 8, 0),
    (10, 30, 9, 5),
    (50, 11, 10, 5),
    (12, 12, 10, 4),
]


@pytest.mark.parametrize(("n", "p", "d", "q"), SHAPES)
@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_one_pca_per_variable(n, p, d, q, seed):
    X = data(n, p, q, seed)
    np.testing.assert_allclose(leave_one_out_r2(as_matrix(X), d), literal(X, d), atol=1e-10)


@pytest.mark.parametrize(("n", "p", "d", "n_axes"), [(40, 25, 2, 5), (20, 60, 3, 6), (25, 25, 4, 4)])
def test_few_axes_take_the_rest_of_the_spectrum_for_its_mean(n, p, d, n_axes):
    X = data(n, p, 10)
    found = leave_one_out_r2(as_matrix(X), d, n_axes=n_axes)
    np.testing.assert_allclose(found, literal_lumped(X, d, n_axes), atol=1e-9)


def test_few_axes_are_enough_when_the_factors_stand_out(monkeypatch):
    X = data(100, 150, 60)
    exact = leave_one_out_r2(as_matrix(X), 2)
    monkeypatch.setattr("gsppca.rules.communality.EXACT_ORDER", 50)
    few = leave_one_out_r2(as_matrix(X), 2)
    assert 0 < np.abs(few - exact).max() < 2e-3


@pytest.mark.parametrize(("n", "p", "d", "wanted"), [(513, 520, 3, 512), (514, 520, 3, 26), (700, 513, 7, 34)])
def test_all_axes_are_used_up_to_the_limit_and_few_beyond(monkeypatch, n, p, d, wanted):
    """As the docstring says: all, if the smaller side is at most 512, else 2 d + 20."""
    asked = []
    original = communality.leading_spectrum

    def noted(matrix, count):
        asked.append(count)
        return original(matrix, min(count, 30))

    monkeypatch.setattr(communality, "leading_spectrum", noted)
    leave_one_out_r2(as_matrix(np.random.default_rng(0).standard_normal((n, p))), d)
    assert asked == [wanted]


@pytest.mark.parametrize("law", ["normal", "skew"])
@pytest.mark.parametrize(("n", "p"), [(15, 40), (40, 15)])
def test_noise_gives_d_over_n_less_one_whatever_its_law(law, n, p):
    rng, d = np.random.default_rng(0), 3
    draw = rng.standard_normal if law == "normal" else lambda shape: rng.exponential(size=shape) ** 2
    plain, adjusted = [], []
    for _ in range(80):
        matrix = as_matrix(draw((n, p)))
        plain.append(leave_one_out_r2(matrix, d).mean())
        adjusted.append(leave_one_out_r2(matrix, d, adjusted=True).mean())
    for values, wanted in ((plain, d / (n - 1)), (adjusted, 0.0)):
        assert abs(np.mean(values) - wanted) < 3 * np.std(values) / np.sqrt(len(values))


def test_gaussian_noise_gives_a_beta_law():
    n, d = 20, 2
    values = [leave_one_out_r2(as_matrix(data(n, 25, seed=seed)), d)[0] for seed in range(300)]
    assert stats.kstest(values, stats.beta(d / 2, (n - 1 - d) / 2).cdf).pvalue > 1e-3


def test_factors_found_with_the_variable_flatter_it():
    """Why the variable is left out: twice as much as noise deserves."""
    Z = as_matrix(data(60, 30))._centred(slice(None)).copy()
    Z /= np.linalg.norm(Z, axis=0)
    axes = np.linalg.svd(Z, full_matrices=False)[0][:, :3]
    inside = ((axes.T @ Z) ** 2).sum(axis=0).mean()
    assert inside > 2 * leave_one_out_r2(as_matrix(Z), 3).mean()


def test_laws():
    X, d = data(25, 40, 12), 3
    r2 = leave_one_out_r2(as_matrix(X), d)
    permutation = np.random.default_rng(0).permutation(40)
    np.testing.assert_allclose(leave_one_out_r2(as_matrix(X[:, permutation]), d), r2[permutation], atol=1e-11)
    for factor in (1e-60, 1e60):
        np.testing.assert_allclose(leave_one_out_r2(as_matrix(factor * X), d), r2, atol=1e-11)
    np.testing.assert_allclose(leave_one_out_r2(as_matrix(X[::-1]), d), r2, atol=1e-11)
    assert r2.min() >= 0
    assert r2.max() <= 1
    adjusted = leave_one_out_r2(as_matrix(X), d, adjusted=True)
    np.testing.assert_allclose(1 - adjusted, (1 - r2) * 24 / 21)


def test_sparse_data_and_scaled_columns():
    X = np.random.default_rng(0).poisson(0.5, (40, 15)).astype(float)
    scale = 1 / X.std(axis=0)
    wanted = literal(X * scale, 2)
    for container in (np.asarray, sparse.csr_matrix, sparse.csc_matrix):
        matrix = as_matrix(container(X)).scaled(scale)
        np.testing.assert_allclose(leave_one_out_r2(matrix, 2), wanted, atol=1e-10)


def test_twins_explain_each_other_and_equal_eigenvalues_do_no_harm():
    X = data(30, 10)
    X[:, 4] = 20 * X[:, 4]
    X[:, 7] = X[:, 4]
    assert leave_one_out_r2(as_matrix(X), 1)[[4, 7]].min() > 0.99
    # Orthogonal columns of equal length: the others explain nothing, and every axis is as good.
    orthogonal = np.linalg.qr(data(16, 8) - data(16, 8).mean(axis=0))[0]
    np.testing.assert_allclose(leave_one_out_r2(as_matrix(orthogonal), 3), 0, atol=1e-6)
